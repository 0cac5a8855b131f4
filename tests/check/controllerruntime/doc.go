// Package controllerruntime runs programs that were written for client-go on the facades. controller-runtime gets our
// informers in its cache and our queue in its controllers. It and the sample-controller also get changed imports, and
// then pass their own tests: those of controller-runtime's pkg/cache on a real API server. It is a module of its own, so
// that the main one needs neither.
//
// In the package cloudmanager below it, an operator that is written with controller-runtime passes the tests of the one
// in cmd/cloudmanager.
package controllerruntime
