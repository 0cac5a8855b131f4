// Package upstream runs upstream's own controllers on glasswatch's informers, against a real API server: the ReplicaSet
// controller and the garbage collector, imported as they are from k8s.io/kubernetes, given client-go's factories with
// compat/cache/install's informers in them. It is a module of its own, so that the main one needs none of it.
//
//	k8s.io/kubernetes' controller ──▶ client-go's factory, listers ──▶ compat/cache ──▶ our layers ──▶ kube-apiserver
//
// The API server is tests/controlplane's, without its own garbage collector: what is collected here, was collected by the
// one that runs on our informers.
package upstream
