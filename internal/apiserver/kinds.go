package apiserver

// The functions of this file list the kinds that a real server writes otherwise than the rest.

// createdByUpdates lists the kinds of which a real server creates an object that is to be updated and is not there.
func (r *request) createdByUpdates() bool {
	switch r.table.String() {
	case "endpoints", "events", "limitranges", "services", "leases.coordination.k8s.io", "runtimeclasses.node.k8s.io",
		"roles.rbac.authorization.k8s.io", "clusterroles.rbac.authorization.k8s.io",
		"rolebindings.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io":
		return true
	}
	return false
}

// conditionalOnly lists the kinds that a real server does not update without a resourceVersion.
func (r *request) conditionalOnly() bool {
	switch r.GroupResource().String() {
	case "leases.coordination.k8s.io", "poddisruptionbudgets.policy", "customresourcedefinitions.apiextensions.k8s.io",
		"runtimeclasses.node.k8s.io", "csidrivers.storage.k8s.io",
		"mutatingwebhookconfigurations.admissionregistration.k8s.io", "validatingwebhookconfigurations.admissionregistration.k8s.io",
		"volumeattachments.storage.k8s.io", "csinodes.storage.k8s.io", "csistoragecapacities.storage.k8s.io":
		return true
	}
	return false
}
