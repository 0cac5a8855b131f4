package apiserver

import (
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"glasswatch/internal/apiserver/crd"
	"glasswatch/internal/apiserver/resource"
)

// validate checks an object that is about to be stored; old is nil for a creation.
func (r *request) validate(obj, old resource.Object) field.ErrorList {
	metadata := field.NewPath("metadata")
	errs := validation.ValidateObjectMetaAccessor(obj, r.Namespaced, nameRule(r.Info), metadata)
	if old != nil {
		errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(obj, old, metadata)...)
	}
	if r.Custom == nil && r.table != crdResource {
		errs = append(errs, validateFinalizers(obj.GetFinalizers(), metadata.Child("finalizers"))...)
	}
	if u, ok := obj.(*unstructured.Unstructured); ok && r.Custom != nil {
		before, _ := old.(*unstructured.Unstructured)
		return append(errs, r.Custom.Validate(u, before)...)
	}
	spec := field.NewPath("spec")
	switch o := obj.(type) {
	case *corev1.Service:
		before, _ := old.(*corev1.Service)
		errs = append(errs, validateService(&o.Spec, before, spec)...)
		if ingress := o.Status.LoadBalancer.Ingress; r.target.subresource == "status" && len(ingress) > 0 && o.Spec.Type != corev1.ServiceTypeLoadBalancer {
			errs = append(errs, field.Forbidden(field.NewPath("status", "loadBalancer", "ingress"), "may only be used when `spec.type` is 'LoadBalancer'"))
		}
	case *networkingv1.Ingress:
		errs = append(errs, validateIngress(&o.Spec, spec)...)
	case *apiextensionsv1.CustomResourceDefinition:
		before, _ := old.(*apiextensionsv1.CustomResourceDefinition)
		errs = append(errs, crd.Validate(o, before)...)
	case *corev1.ConfigMap:
		before, _ := old.(*corev1.ConfigMap)
		errs = append(errs, validateConfigMap(o, before)...)
	case *corev1.Secret:
		before, _ := old.(*corev1.Secret)
		errs = append(errs, validateSecret(o, before)...)
	case *corev1.Event:
		errs = append(errs, validateEvent(o)...)
	case *corev1.Pod:
		before, _ := old.(*corev1.Pod)
		errs = append(errs, validatePod(o, before)...)
	case *coordinationv1.Lease:
		if d := o.Spec.LeaseDurationSeconds; d != nil && *d <= 0 {
			errs = append(errs, field.Invalid(spec.Child("leaseDurationSeconds"), *d, "must be greater than 0"))
		}
	default:
		errs = append(errs, validateWorkload(obj, old, r.target.subresource)...)
		if old != nil {
			errs = append(errs, validateFixed(obj, old)...)
		}
	}
	return errs
}

// nameRule is what names of a kind must look like.
func nameRule(info *resource.Info) validation.ValidateNameFunc {
	switch info.GroupResource().String() {
	case "services", "namespaces", "statefulsets.apps":
		return validation.NameIsDNSLabel
	case "roles.rbac.authorization.k8s.io", "clusterroles.rbac.authorization.k8s.io",
		"rolebindings.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io":
		return func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	}
	return validation.NameIsDNSSubdomain
}

func validateService(spec *corev1.ServiceSpec, old *corev1.Service, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	headless := spec.ClusterIP == corev1.ClusterIPNone
	external := spec.Type == corev1.ServiceTypeExternalName
	if spec.ClusterIP != "" && !headless && !external {
		// It is allocated before all else is looked at, so this error stands alone.
		if bad := utilvalidation.IsValidIP(p.Child("clusterIPs").Index(0), spec.ClusterIP); len(bad) > 0 {
			return bad
		}
	}
	if len(spec.Ports) == 0 && !headless && !external {
		errs = append(errs, field.Required(p.Child("ports"), ""))
	}
	if external {
		name := strings.TrimSuffix(spec.ExternalName, ".")
		if name == "" {
			errs = append(errs, field.Required(p.Child("externalName"), ""))
		} else {
			errs = append(errs, invalid(p.Child("externalName"), spec.ExternalName, utilvalidation.IsDNS1123Subdomain(name))...)
		}
	}
	if old != nil && old.Spec.Type != corev1.ServiceTypeExternalName && !external && old.Spec.ClusterIP != "" && spec.ClusterIP != old.Spec.ClusterIP {
		errs = append(errs, field.Invalid(p.Child("clusterIPs").Index(0), spec.ClusterIP, "may not change once set"))
	}
	errs = append(errs, validateServicePorts(spec.Ports, p.Child("ports"))...)
	switch spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName:
	default:
		errs = append(errs, field.NotSupported(p.Child("type"), spec.Type, []corev1.ServiceType{
			corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort}))
	}
	return append(errs, validateNodePorts(spec, p.Child("ports"))...)
}

func validateServicePorts(ports []corev1.ServicePort, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	type number struct {
		protocol corev1.Protocol
		port     int32
	}
	numbers := map[number]bool{}
	for i, port := range ports {
		at := p.Index(i)
		switch {
		case port.Name == "" && len(ports) > 1:
			errs = append(errs, field.Required(at.Child("name"), ""))
		case port.Name != "":
			errs = append(errs, invalid(at.Child("name"), port.Name, utilvalidation.IsDNS1123Label(port.Name))...)
			if names[port.Name] {
				errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
			}
			names[port.Name] = true
		}
		errs = append(errs, invalid(at.Child("port"), port.Port, utilvalidation.IsValidPortNum(int(port.Port)))...)
		switch port.Protocol {
		case corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
		default:
			errs = append(errs, field.NotSupported(at.Child("protocol"), port.Protocol,
				[]corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}))
		}
		if target := port.TargetPort; target.Type == intstr.Int {
			errs = append(errs, invalid(at.Child("targetPort"), target.IntVal, utilvalidation.IsValidPortNum(int(target.IntVal)))...)
		} else {
			errs = append(errs, invalid(at.Child("targetPort"), target.StrVal, utilvalidation.IsValidPortName(target.StrVal))...)
		}
		key := number{port.Protocol, port.Port}
		if numbers[key] {
			errs = append(errs, field.Duplicate(at, port))
		}
		numbers[key] = true
	}
	return errs
}

func validateIngress(spec *networkingv1.IngressSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		errs = append(errs, field.Invalid(p, spec.Rules, "either `defaultBackend` or `rules` must be specified"))
	}
	if spec.DefaultBackend != nil {
		errs = append(errs, validateBackend(spec.DefaultBackend, p.Child("defaultBackend"))...)
	}
	if c := spec.IngressClassName; c != nil {
		errs = append(errs, invalid(p.Child("ingressClassName"), *c, validation.NameIsDNSSubdomain(*c, false))...)
	}
	for i, rule := range spec.Rules {
		at := p.Child("rules").Index(i)
		if netutils.ParseIPSloppy(rule.Host) != nil { // also 010.0.0.1
			errs = append(errs, field.Invalid(at.Child("host"), rule.Host, "must be a DNS name, not an IP address"))
		}
		errs = append(errs, validateHost(rule.Host, at.Child("host"))...)
		if rule.HTTP == nil {
			continue
		}
		paths := at.Child("http", "paths")
		if len(rule.HTTP.Paths) == 0 {
			errs = append(errs, field.Required(paths, ""))
		}
		for j := range rule.HTTP.Paths {
			errs = append(errs, validateHTTPPath(&rule.HTTP.Paths[j], paths.Index(j))...)
		}
	}
	for i, tls := range spec.TLS {
		for j, host := range tls.Hosts {
			errs = append(errs, validateHost(host, p.Child("tls").Index(i).Child("hosts").Index(j))...)
		}
	}
	return errs
}

func validateHost(host string, p *field.Path) field.ErrorList {
	switch {
	case host == "":
		return nil
	case strings.Contains(host, "*"):
		return invalid(p, host, utilvalidation.IsWildcardDNS1123Subdomain(host))
	default:
		return invalid(p, host, utilvalidation.IsDNS1123Subdomain(host))
	}
}

func validateHTTPPath(path *networkingv1.HTTPIngressPath, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case path.PathType == nil:
		errs = append(errs, field.Required(p.Child("pathType"), "pathType must be specified"))
	case *path.PathType == networkingv1.PathTypeExact, *path.PathType == networkingv1.PathTypePrefix:
		if !strings.HasPrefix(path.Path, "/") {
			errs = append(errs, field.Invalid(p.Child("path"), path.Path, "must be an absolute path"))
		}
		for _, part := range []string{"//", "/./", "/../", "%2f", "%2F"} {
			if strings.Contains(path.Path, part) {
				errs = append(errs, field.Invalid(p.Child("path"), path.Path, fmt.Sprintf("must not contain '%s'", part)))
			}
		}
		for _, end := range []string{"/..", "/."} {
			if strings.HasSuffix(path.Path, end) {
				errs = append(errs, field.Invalid(p.Child("path"), path.Path, fmt.Sprintf("cannot end with '%s'", end)))
			}
		}
	case *path.PathType == networkingv1.PathTypeImplementationSpecific:
		if path.Path != "" && !strings.HasPrefix(path.Path, "/") {
			errs = append(errs, field.Invalid(p.Child("path"), path.Path, "must be an absolute path"))
		}
	default:
		errs = append(errs, field.NotSupported(p.Child("pathType"), *path.PathType, []networkingv1.PathType{
			networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix}))
	}
	return append(errs, validateBackend(&path.Backend, p.Child("backend"))...)
}

func validateBackend(b *networkingv1.IngressBackend, p *field.Path) field.ErrorList {
	switch {
	case b.Resource != nil && b.Service != nil:
		return field.ErrorList{field.Invalid(p, "", "cannot set both resource and service backends")}
	case b.Resource != nil:
		return nil
	case b.Service == nil:
		return field.ErrorList{field.Required(p, "resource or service backend is required")}
	}
	var errs field.ErrorList
	service, port := p.Child("service"), b.Service.Port
	if b.Service.Name == "" {
		errs = append(errs, field.Required(service.Child("name"), ""))
	} else {
		errs = append(errs, invalid(service.Child("name"), b.Service.Name, validation.NameIsDNSLabel(b.Service.Name, false))...)
	}
	switch {
	case port.Name != "" && port.Number != 0:
		errs = append(errs, field.Invalid(service, "", "cannot set both port name & port number"))
	case port.Name != "":
		errs = append(errs, invalid(service.Child("port", "name"), port.Name, utilvalidation.IsValidPortName(port.Name))...)
	case port.Number != 0:
		errs = append(errs, invalid(service.Child("port", "number"), port.Number, utilvalidation.IsValidPortNum(int(port.Number)))...)
	default:
		errs = append(errs, field.Required(service, "port name or number is required"))
	}
	return errs
}

func validateEvent(o *corev1.Event) field.ErrorList {
	involved := o.InvolvedObject.Namespace
	if involved != o.Namespace && !(involved == "" && o.Namespace == "default") {
		return field.ErrorList{field.Invalid(field.NewPath("involvedObject", "namespace"), involved, "does not match event.namespace")}
	}
	return nil
}

func invalid(p *field.Path, value any, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, m := range messages {
		errs = append(errs, field.Invalid(p, value, m))
	}
	return errs
}
