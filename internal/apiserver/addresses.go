package apiserver

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"glasswatch/internal/apiserver/resource"
)

// addresses are the cluster IPs and node ports of Services. An entry counts while the Service that it names is stored and
// has the address, so nothing has to be given back.
type addresses struct {
	mu               sync.Mutex // protects what follows, and is held from an allocation until the Service is stored
	ips              map[string]string
	ports            map[int32]string // nil after a restore
	nextIP, nextPort int
}

const (
	clusterIPs          = 250 * 250
	firstPort, lastPort = 30000, 32767
)

func clusterIP(n int) string { return fmt.Sprintf("10.96.%d.%d", n/250%250, 1+n%250) }

// readAddresses notes what the stored Services have.
func (s *Server) readAddresses() {
	a := &s.addresses
	if a.ports != nil {
		return
	}
	a.ips, a.ports = map[string]string{}, map[int32]string{}
	tree, _, _ := s.store.Snapshot(servicesResource, 0)
	for _, obj := range tree.Range("", "") {
		a.note(obj)
	}
}

// note is called when a Service has been stored. Other kinds have no addresses.
func (a *addresses) note(obj resource.Object) {
	o, ok := obj.(*corev1.Service)
	if !ok || a.ports == nil {
		return
	}
	key := keyOf(o.Namespace, o.Name)
	if o.Spec.ClusterIP != corev1.ClusterIPNone {
		a.ips[o.Spec.ClusterIP] = key
	}
	for _, p := range o.Spec.Ports {
		a.ports[p.NodePort] = key
	}
}

// takenIP tells whether a stored Service other than own has an address.
func (s *Server) takenIP(ip, own string) bool {
	key := s.addresses.ips[ip]
	other, ok := s.store.Get(servicesResource, key).(*corev1.Service)
	return ok && key != own && other.Spec.ClusterIP == ip
}

func (s *Server) takenPort(port int32, own string) bool {
	key := s.addresses.ports[port]
	other, ok := s.store.Get(servicesResource, key).(*corev1.Service)
	return ok && key != own && hasNodePort(other, port)
}

func hasNodePort(o *corev1.Service, port int32) bool {
	return slices.ContainsFunc(o.Spec.Ports, func(p corev1.ServicePort) bool { return p.NodePort == port })
}

// allocate gives a Service the addresses that it lacks, and refuses those of others. own is its key, or "" if it is new. Call
// it with s.addresses.mu held.
func (s *Server) allocate(o *corev1.Service, own string) error {
	spec := &o.Spec
	if spec.Type == corev1.ServiceTypeExternalName {
		spec.ClusterIP, spec.ClusterIPs, spec.IPFamilies, spec.IPFamilyPolicy = "", nil, nil, nil
		return nil
	}
	s.readAddresses()
	if err := s.allocateIP(o, own); err != nil {
		return err
	}
	if len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	setPointer(&spec.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
	if exposed(o) {
		if err := s.allocatePorts(o, own); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) allocateIP(o *corev1.Service, own string) error {
	a, spec := &s.addresses, &o.Spec
	switch {
	case spec.ClusterIP == corev1.ClusterIPNone:
	case spec.ClusterIP == "":
		for range clusterIPs {
			ip := clusterIP(a.nextIP)
			a.nextIP++
			if !s.takenIP(ip, "") {
				spec.ClusterIP = ip
				return nil
			}
		}
		return apierrors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP for Service %q: range is full", o.Name))
	case s.takenIP(spec.ClusterIP, own):
		return invalidService(o, field.Invalid(field.NewPath("spec", "clusterIPs"), []string{spec.ClusterIP},
			fmt.Sprintf("failed to allocate IP %s: provided IP is already allocated", spec.ClusterIP)))
	}
	return nil
}

func (s *Server) allocatePorts(o *corev1.Service, own string) error {
	a := &s.addresses
	isAutomatic := o.Spec.Type == corev1.ServiceTypeNodePort || ptr.Deref(o.Spec.AllocateLoadBalancerNodePorts, true)
	for i := range o.Spec.Ports {
		p, at := &o.Spec.Ports[i], field.NewPath("spec", "ports").Index(i).Child("nodePort")
		switch {
		case p.NodePort == 0:
			for n := 0; isAutomatic && p.NodePort == 0; n++ {
				if n > lastPort-firstPort {
					return apierrors.NewInternalError(errors.New("failed to allocate a nodePort: range is full"))
				}
				a.nextPort++
				if port := int32(firstPort + a.nextPort%(lastPort-firstPort+1)); !s.takenPort(port, "") && !hasNodePort(o, port) {
					p.NodePort = port
				}
			}
		case p.NodePort < firstPort || p.NodePort > lastPort:
			return invalidService(o, field.Invalid(at, p.NodePort, fmt.Sprintf(
				"provided port is not in the valid range. The range of valid ports is %d-%d", firstPort, lastPort)))
		case s.takenPort(p.NodePort, own):
			return invalidService(o, field.Invalid(at, p.NodePort, "provided port is already allocated"))
		}
	}
	return nil
}

func invalidService(o *corev1.Service, err *field.Error) error {
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), o.Name, field.ErrorList{err})
}

func validateNodePorts(spec *corev1.ServiceSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	type number struct {
		protocol corev1.Protocol
		port     int32
	}
	seen := map[number]bool{}
	for i, port := range spec.Ports {
		at, key := p.Index(i).Child("nodePort"), number{port.Protocol, port.NodePort}
		switch {
		case port.NodePort == 0:
		case spec.Type == corev1.ServiceTypeClusterIP:
			errs = append(errs, field.Forbidden(at, "may not be used when `type` is 'ClusterIP'"))
		case seen[key]:
			errs = append(errs, field.Duplicate(at, port.NodePort))
		}
		seen[key] = true
	}
	return errs
}
