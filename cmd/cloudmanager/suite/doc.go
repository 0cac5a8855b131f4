// Package suite is the suite that each operator for CloudManagers must pass: the one in cmd/cloudmanager, and
// the one on controller-runtime in tests/check/controllerruntime/cloudmanager.
//
//	func TestSuite(t *testing.T) { suite.Run(t, suite.Implementation{Start: start}) }
//
// Each case runs twice: on the API server in memory, in virtual time, and on a real one. On both, internal/actors plays
// the Deployment controller, the StatefulSet controller and kubelet. Faults are put between the operator and the
// server, in the operator's transport, so that they are the same on both. There watches are held back, too.
//
// In virtual time a case can say that nothing more happens: it lets an hour pass and wants no write. On the real server
// that is not tried.
//
// Reading order: suite, world, events, wire, watches, then the cases.
package suite
