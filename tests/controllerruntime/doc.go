// Package controllerruntime runs programs that were written for client-go on the facades. controller-runtime gets our
// informers in its cache and our queue in its controllers. The sample-controller gets changed imports. It is a module
// of its own, so that the main one needs neither.
package controllerruntime
