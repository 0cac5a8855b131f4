// Package operator is this repository's small manager: what cmd/ingress-controller, cmd/foo-controller and
// cmd/cloudmanager have in common around their controllers. That is flags, signals, metrics, health, and the election
// of the replica that writes. What one of them has alone is not here: shards are in cmd/ingress-controller/sharding.
//
//	main ─▶ Main: signals, exit code
//	          └▶ parse: Flags.AddTo, Flags.Validate
//	          └▶ Run ─┬─ election ────── MayWrite ──┐
//	                  ├─ /metrics ◀── Registerer ───┤ Parts
//	                  ├─ /healthz, /readyz ◀─ Ready │
//	                  └─ Program.New(cfg, Parts) ◀──┘ ─▶ Controller.Run
//
// # What is guaranteed
//
//   - At most one replica may write at a time, as long as clocks run equally fast. Its Parts.MayWrite is closed. A
//     replica that loses its lease ends at once with an error, and does not wait for its work. As with client-go, a
//     write that was sent before cannot be cancelled.
//   - A replica joins the election when its controller is first ready. One that never becomes ready never leads.
//   - A standby's controller runs: its caches are filled and follow the cluster. What it must not do before
//     Parts.MayWrite is closed is write.
//   - A replica gives its lease up only when its controller's Run has returned.
//   - A lease that somebody has edited keeps no replica from work. What makes no sense in it counts as missing.
//   - /readyz fails while the controller is not ready, or the lease cannot be read or written. /healthz fails only in a
//     leader that neither renews its lease nor ends.
//   - When the controller's Run has returned, Run returns with its goroutines ended.
//   - [Main] exits with 0 after an orderly end, a first signal included, and with 1 after an error. A second signal
//     ends the program at once.
//
// # What is not
//
//   - Nothing is said about the controller. Two of the programs put theirs together with package layers.
//   - client-go takes one provider of election metrics a process, so they are the process's.
//
// # Where controller-runtime differs
//
// Its Manager starts caches of what the reconcilers ask for, and a standby's controllers do not run. Here the program
// says what it caches, and gets a channel that says when it may write.
//
// Reading order: operator.go, command.go, flags.go, serve.go, cluster.go; then election.go and its parts.
package operator
