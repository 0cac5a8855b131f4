// Package cloudmanager is the operator of cmd/cloudmanager, as a user of controller-runtime writes it. The two share the
// types and the functions that make the desired objects, and pass the same tests.
//
//	API server ──▶ cache ──watches──▶ queue ──▶ Reconcile ──client──▶ API server
//	               our informers      our queue
//
// controller-runtime brings the cache, the client that reads from it, the watches, the workers and the Events. Its
// cache is made of our informers (cache.Options.NewInformer), and its queue is ours (controller.Options.NewQueue).
// docs/learn/operators-side-by-side.md lays the two operators beside each other.
//
// Reading order: manager.go says what wakes the reconciler, reconcile.go what it does.
package cloudmanager
