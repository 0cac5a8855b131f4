//lint:file-ignore SA1019 Endpoints are deprecated, but a server has them and kubectl prints them.

package table

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

var namespaceColumns = []metav1.TableColumnDefinition{nameColumn, column("Status", "The status of the namespace"), ageColumn}

func namespaceCells(n *corev1.Namespace) []any { return []any{n.Name, string(n.Status.Phase), age(n)} }

var configMapColumns = []metav1.TableColumnDefinition{nameColumn, column("Data", corev1.ConfigMap{}.SwaggerDoc()["data"]), ageColumn}

func configMapCells(c *corev1.ConfigMap) []any {
	return []any{c.Name, int64(len(c.Data) + len(c.BinaryData)), age(c)}
}

var secretColumns = []metav1.TableColumnDefinition{
	nameColumn, column("Type", corev1.Secret{}.SwaggerDoc()["type"]), column("Data", corev1.Secret{}.SwaggerDoc()["data"]), ageColumn,
}

func secretCells(s *corev1.Secret) []any {
	return []any{s.Name, string(s.Type), int64(len(s.Data)), age(s)}
}

var serviceAccountColumns = []metav1.TableColumnDefinition{
	nameColumn, column("Secrets", corev1.ServiceAccount{}.SwaggerDoc()["secrets"]), ageColumn,
}

func serviceAccountCells(s *corev1.ServiceAccount) []any {
	return []any{s.Name, int64(len(s.Secrets)), age(s)}
}

var leaseColumns = []metav1.TableColumnDefinition{
	nameColumn, column("Holder", coordinationv1.LeaseSpec{}.SwaggerDoc()["holderIdentity"]), ageColumn,
}

func leaseCells(l *coordinationv1.Lease) []any {
	holder := ""
	if l.Spec.HolderIdentity != nil {
		holder = *l.Spec.HolderIdentity
	}
	return []any{l.Name, holder, age(l)}
}

// shownEndpoints is how many addresses or ports a cell lists before it says how many more there are.
const shownEndpoints = 3

var endpointsColumns = []metav1.TableColumnDefinition{
	nameColumn, column("Endpoints", corev1.Endpoints{}.SwaggerDoc()["subsets"]), ageColumn,
}

func endpointsCells(e *corev1.Endpoints) []any {
	var all []string
	for _, subset := range e.Subsets {
		for _, a := range subset.Addresses {
			if len(subset.Ports) == 0 {
				all = append(all, a.IP)
			}
			for _, p := range subset.Ports {
				all = append(all, net.JoinHostPort(a.IP, strconv.Itoa(int(p.Port))))
			}
		}
	}
	return []any{e.Name, listed(all, "<none>"), age(e)}
}

// listed joins the first entries of a list.
func listed(all []string, none string) string {
	switch {
	case len(all) == 0:
		return none
	case len(all) > shownEndpoints:
		return fmt.Sprintf("%s + %d more...", strings.Join(all[:shownEndpoints], ","), len(all)-shownEndpoints)
	}
	return strings.Join(all, ",")
}

var (
	endpointSliceDocs    = discoveryv1.EndpointSlice{}.SwaggerDoc()
	endpointSliceColumns = []metav1.TableColumnDefinition{
		nameColumn,
		column("AddressType", endpointSliceDocs["addressType"]),
		column("Ports", endpointSliceDocs["ports"]),
		column("Endpoints", endpointSliceDocs["endpoints"]),
		ageColumn,
	}
)

func endpointSliceCells(e *discoveryv1.EndpointSlice) []any {
	var ports, addresses []string
	for _, p := range e.Ports {
		switch {
		case p.Port != nil:
			ports = append(ports, strconv.Itoa(int(*p.Port)))
		case p.Name != nil && *p.Name != "":
			ports = append(ports, *p.Name)
		default:
			ports = append(ports, "*")
		}
	}
	for _, ep := range e.Endpoints {
		addresses = append(addresses, ep.Addresses...)
	}
	return []any{e.Name, string(e.AddressType), listed(ports, "<unset>"), listed(addresses, "<unset>"), age(e)}
}

var (
	nodeDocs    = corev1.NodeSystemInfo{}.SwaggerDoc()
	nodeColumns = []metav1.TableColumnDefinition{
		nameColumn,
		column("Status", "The status of the node"),
		column("Roles", "The roles of the node"),
		ageColumn,
		column("Version", nodeDocs["kubeletVersion"]),
		wide("Internal-IP", corev1.NodeStatus{}.SwaggerDoc()["addresses"]),
		wide("External-IP", corev1.NodeStatus{}.SwaggerDoc()["addresses"]),
		wide("OS-Image", nodeDocs["osImage"]),
		wide("Kernel-Version", nodeDocs["kernelVersion"]),
		wide("Container-Runtime", nodeDocs["containerRuntimeVersion"]),
	}
)

func nodeCells(n *corev1.Node) []any {
	address := func(t corev1.NodeAddressType) string {
		for _, a := range n.Status.Addresses {
			if a.Type == t {
				return a.Address
			}
		}
		return "<none>"
	}
	unknown := func(s string) string {
		if s == "" {
			return "<unknown>"
		}
		return s
	}
	info := n.Status.NodeInfo
	return []any{n.Name, nodeStatus(n), orNone(nodeRoles(n.Labels)), age(n), info.KubeletVersion,
		address(corev1.NodeInternalIP), address(corev1.NodeExternalIP), unknown(info.OSImage), unknown(info.KernelVersion), unknown(info.ContainerRuntimeVersion)}
}

func nodeStatus(n *corev1.Node) string {
	status := "Unknown"
	for _, c := range n.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		status = "NotReady"
		if c.Status == corev1.ConditionTrue {
			status = "Ready"
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

// nodeRoles reads the labels node-role.kubernetes.io/<role> and kubernetes.io/role=<role>.
func nodeRoles(nodeLabels map[string]string) string {
	roles := sets.New[string]()
	for key, value := range nodeLabels {
		if role, ok := strings.CutPrefix(key, "node-role.kubernetes.io/"); ok && role != "" {
			roles.Insert(role)
		} else if key == "kubernetes.io/role" && value != "" {
			roles.Insert(value)
		}
	}
	return strings.Join(sets.List(roles), ",")
}
