package ingress

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	netutils "k8s.io/utils/net"
)

// Reasons of the Warning Events on a Service.
const (
	ReasonInvalidAnnotation = "InvalidAnnotation" // the http annotation is not a bool
	ReasonInvalidHost       = "InvalidHost"       // the host annotation is not a host name
	ReasonNoTCPPort         = "NoTCPPort"         // the Service has no port for the Ingress
	ReasonUnsupportedType   = "UnsupportedType"   // an ExternalName Service cannot be a backend
	ReasonNameConflict      = "NameConflict"      // an Ingress of that name belongs to somebody else
	ReasonContested         = "Contested"         // another writer keeps undoing this controller's writes
	ReasonRejected          = "Rejected"          // the API server refuses this controller's write as invalid
	ReasonForbidden         = "Forbidden"         // the API server forbids it, for a minute or longer
)

// Defaults of Config.
const (
	DefaultAnnotationPrefix = "ingress"
	DefaultClass            = "nginx"
	DefaultHost             = "example.com"
)

// Config is what an operator chooses once for all Services.
type Config struct {
	AnnotationPrefix string // <prefix>/http and <prefix>/host are read
	Class            string // spec.ingressClassName; "" leaves the field unset and unowned
	Host             string // the host of a Service that names none

	label Label // of all Ingresses; see View
}

// Validate returns an error for a field that is wrong for every Service. It names the field like the flag that sets it.
func (c Config) Validate() error {
	if errs := validation.IsQualifiedName(c.AnnotationPrefix + "/http"); len(errs) > 0 {
		return fmt.Errorf("annotation-prefix: want a DNS subdomain, got %q: %s", c.AnnotationPrefix, strings.Join(errs, "; "))
	}
	if c.Class != "" {
		if errs := validation.IsDNS1123Subdomain(c.Class); len(errs) > 0 {
			return fmt.Errorf("ingress-class: want a DNS subdomain or nothing, got %q: %s", c.Class, strings.Join(errs, "; "))
		}
	}
	if err := checkHost(c.Host); err != nil {
		return fmt.Errorf("host: %w", err)
	}
	return nil
}

func (c Config) httpAnnotation() string { return c.AnnotationPrefix + "/http" }
func (c Config) hostAnnotation() string { return c.AnnotationPrefix + "/host" }

// desired is the part of an Ingress that this controller owns. It is comparable:
// two equal values ask for the same Ingress.
type desired struct {
	owner owner
	label Label
	class string // "" is unowned
	host  string
	port  int32
}

// Label is one that the controller's Ingresses have. The zero value is none.
type Label struct{ Key, Value string }

// labels returns it as an Ingress has it, nil for none.
func (l Label) labels() map[string]string {
	if l == (Label{}) {
		return nil
	}
	return map[string]string{l.Key: l.Value}
}

type owner struct {
	name string
	uid  types.UID
}

// invalidError says that a Service asks for an impossible Ingress.
type invalidError struct{ reason, message string }

func (e *invalidError) Error() string { return e.reason + ": " + e.message }

// wants reports whether the Service asks for an Ingress at all; an *invalidError if the annotation cannot be parsed.
func (c Config) wants(svc *corev1.Service) (bool, error) {
	value, found := svc.Annotations[c.httpAnnotation()]
	if !found {
		return false, nil
	}
	wanted, err := strconv.ParseBool(value)
	if err != nil {
		return false, &invalidError{ReasonInvalidAnnotation,
			fmt.Sprintf("annotation %s: want true or false, got %.100q", c.httpAnnotation(), value)}
	}
	return wanted, nil
}

// Asks reports whether the Service may have an Ingress: it asks for one, or nobody can tell.
func (c Config) Asks(svc *corev1.Service) bool {
	wanted, err := c.wants(svc)
	return (wanted || err != nil) && svc.Spec.Type != corev1.ServiceTypeExternalName
}

// desire returns the Ingress that the Service asks for, or an *invalidError.
func (c Config) desire(svc *corev1.Service) (desired, error) {
	host := c.Host
	if value, found := svc.Annotations[c.hostAnnotation()]; found {
		if err := checkHost(value); err != nil {
			return desired{}, &invalidError{ReasonInvalidHost, fmt.Sprintf("annotation %s: %v", c.hostAnnotation(), err)}
		}
		host = value
	}
	port, found := tcpPort(svc.Spec.Ports)
	if !found {
		return desired{}, &invalidError{ReasonNoTCPPort,
			fmt.Sprintf("want a TCP port for the Ingress to point at, got %s", describePorts(svc.Spec.Ports))}
	}
	return desired{
		owner: owner{name: svc.Name, uid: svc.UID},
		label: c.label,
		class: c.Class,
		host:  host,
		port:  port,
	}, nil
}

// tcpPort is the number of the TCP port named "http", else of the first TCP port.
func tcpPort(ports []corev1.ServicePort) (number int32, found bool) {
	for _, p := range ports {
		if p.Protocol != corev1.ProtocolTCP && p.Protocol != "" {
			continue
		}
		if p.Name == "http" {
			return p.Port, true
		}
		if !found {
			number, found = p.Port, true
		}
	}
	return number, found
}

func describePorts(ports []corev1.ServicePort) string {
	if len(ports) == 0 {
		return "no ports"
	}
	parts := make([]string, len(ports))
	for i, p := range ports {
		parts[i] = fmt.Sprintf("%d/%s", p.Port, p.Protocol)
	}
	return strings.Join(parts, ", ")
}

// checkHost follows the API server's rules for the host of an Ingress rule. It also refuses the empty host, which would
// match every request.
func checkHost(host string) error {
	var errs []string
	switch {
	case host == "":
		errs = []string{"must not be empty"}
	case netutils.ParseIPSloppy(host) != nil:
		errs = []string{"must be a DNS name, not an IP address"}
	case strings.Contains(host, "*"):
		errs = validation.IsWildcardDNS1123Subdomain(host)
	default:
		errs = validation.IsDNS1123Subdomain(host)
	}
	if len(errs) > 0 {
		return fmt.Errorf("want a host name, got %.300q: %s", host, strings.Join(errs, "; "))
	}
	return nil
}

// ownerReference is the reference that makes the Service the Ingress's controller.
func (d desired) ownerReference() metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{
		APIVersion: "v1", Kind: "Service", Name: d.owner.name, UID: d.owner.uid,
		Controller: &yes, BlockOwnerDeletion: &yes,
	}
}

func (d desired) rules() []networkingv1.IngressRule {
	prefix := networkingv1.PathTypePrefix
	return []networkingv1.IngressRule{{
		Host: d.host,
		IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
			Paths: []networkingv1.HTTPIngressPath{{
				Path: "/", PathType: &prefix,
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
					Name: d.owner.name, Port: networkingv1.ServiceBackendPort{Number: d.port},
				}},
			}},
		}},
	}}
}
