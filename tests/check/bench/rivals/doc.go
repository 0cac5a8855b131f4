// Package rivals measures our layers beside libraries that do the same work, and are not client-go.
//
//	impl=controller-runtime   sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue, beside workqueue
//	impl=statedb              github.com/cilium/statedb, beside indexer
//
// Both sides get the same keys and objects through the same interface. A test compares what they return. The package is
// in the module of the benchmarks, so that glasswatch itself depends on neither library.
//
//	cd tests/check/bench && go test ./rivals -run '^$' -bench .
package rivals
