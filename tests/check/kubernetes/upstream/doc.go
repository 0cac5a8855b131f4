// Package upstream runs upstream's own controllers on glasswatch's informers, against a real API server: the ReplicaSet
// controller and the garbage collector. They are imported unchanged from k8s.io/kubernetes. They get client-go's
// factories, in which compat/cache/install has put its informers. It is a module of its own, so that the main one needs
// none of it.
//
//	k8s.io/kubernetes' controller ──▶ client-go's factory, listers ──▶ compat/cache ──▶ our layers ──▶ kube-apiserver
//
// The API server is tests/check/controlplane's, without its own garbage collector: only the one on our informers collects
// here.
//
// The tests named Faults need no real API server. They play upstream's controllers of ReplicaSets, Deployments, StatefulSets and Jobs on
// client-go's informers, by controller/controllertest: docs/results/faults.md.
package upstream
