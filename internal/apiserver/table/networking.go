package table

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
)

var (
	serviceDocs    = corev1.ServiceSpec{}.SwaggerDoc()
	serviceColumns = []metav1.TableColumnDefinition{
		nameColumn,
		column("Type", serviceDocs["type"]),
		column("Cluster-IP", serviceDocs["clusterIP"]),
		column("External-IP", serviceDocs["externalIPs"]),
		column("Port(s)", serviceDocs["ports"]),
		ageColumn,
		wide("Selector", serviceDocs["selector"]),
	}
)

func serviceCells(s *corev1.Service) []any {
	ip := s.Spec.ClusterIP
	if len(s.Spec.ClusterIPs) > 0 {
		ip = s.Spec.ClusterIPs[0]
	}
	return []any{s.Name, string(s.Spec.Type), orNone(ip), externalIP(s), orNone(servicePorts(s.Spec.Ports)), age(s), labels.FormatLabels(s.Spec.Selector)}
}

// externalIP is the address of a Service from outside the cluster, if its type has one.
func externalIP(s *corev1.Service) string {
	switch s.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return orNone(strings.Join(s.Spec.ExternalIPs, ","))
	case corev1.ServiceTypeLoadBalancer:
		addresses := sets.New[string]()
		for _, in := range s.Status.LoadBalancer.Ingress {
			addAddress(addresses, in.IP, in.Hostname)
		}
		all := append(sets.List(addresses), s.Spec.ExternalIPs...)
		if len(all) == 0 {
			return "<pending>"
		}
		return strings.Join(all, ",")
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	}
	return "<unknown>"
}

func addAddress(addresses sets.Set[string], ip, hostname string) {
	if ip != "" {
		addresses.Insert(ip)
	} else if hostname != "" {
		addresses.Insert(hostname)
	}
}

func servicePorts(ports []corev1.ServicePort) string {
	var out []string
	for _, p := range ports {
		if p.NodePort > 0 {
			out = append(out, fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol))
		} else {
			out = append(out, fmt.Sprintf("%d/%s", p.Port, p.Protocol))
		}
	}
	return strings.Join(out, ",")
}

var ingressColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Class", "The name of the IngressClass resource that should be used for additional configuration"),
	column("Hosts", "Hosts that incoming requests are matched against before the ingress rule"),
	column("Address", "Address is a list containing ingress points for the load-balancer"),
	column("Ports", "Ports of TLS configurations that open"),
	ageColumn,
}

func ingressCells(in *networkingv1.Ingress) []any {
	class := "<none>"
	if in.Spec.IngressClassName != nil {
		class = *in.Spec.IngressClassName
	}
	addresses := sets.New[string]()
	for _, lb := range in.Status.LoadBalancer.Ingress {
		addAddress(addresses, lb.IP, lb.Hostname)
	}
	ports := "80"
	if in.Spec.TLS != nil {
		ports = "80, 443"
	}
	return []any{in.Name, class, ingressHosts(in.Spec.Rules), strings.Join(sets.List(addresses), ","), ports, age(in)}
}

// ingressHosts names the first three hosts. The count of the others counts rules, as a real server's does.
func ingressHosts(rules []networkingv1.IngressRule) string {
	const shown = 3
	var hosts []string
	more := false
	for _, r := range rules {
		if len(hosts) == shown {
			more = true
		} else if r.Host != "" {
			hosts = append(hosts, r.Host)
		}
	}
	if len(hosts) == 0 {
		return "*"
	}
	out := strings.Join(hosts, ",")
	if more {
		out = fmt.Sprintf("%s + %d more...", out, len(rules)-shown)
	}
	return out
}

var ingressClassColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Controller", "Controller that is responsible for handling this class"),
	column("Parameters", "A reference to a resource with additional parameters"),
	ageColumn,
}

func ingressClassCells(c *networkingv1.IngressClass) []any {
	parameters := "<none>"
	if p := c.Spec.Parameters; p != nil {
		parameters = p.Kind
		if p.APIGroup != nil {
			parameters += "." + *p.APIGroup
		}
		parameters += "/" + p.Name
	}
	return []any{c.Name, c.Spec.Controller, parameters, age(c)}
}

var networkPolicyColumns = []metav1.TableColumnDefinition{
	nameColumn, column("Pod-Selector", networkingv1.NetworkPolicySpec{}.SwaggerDoc()["podSelector"]), ageColumn,
}

func networkPolicyCells(p *networkingv1.NetworkPolicy) []any {
	return []any{p.Name, metav1.FormatLabelSelector(&p.Spec.PodSelector), age(p)}
}
