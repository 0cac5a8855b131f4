// Command programs measures whole programs, kube-controller-manager, kube-scheduler and descheduler, on glasswatch's
// informers beside client-go's. It writes docs/results/programs.md.
//
//	make programs                                          builds all, and writes the page, in about two hours
//	make programs PROGRAMS="-rounds 1 -works many -for 30s"
//	go run -C tests/check ./programs -deployments 40 -others 500 -rounds 1     the page on standard output
//	go run -C tests/check ./programs -write -keep F                 goes on where an earlier run with F has ended
//
// The page shows all that F holds, also works that only an earlier run has measured. F is for one load, one duration and
// one build of the programs; others are refused.
//
//	tests/check/programs/patch ─▶ a copy of client-go whose informers ask a hook first
//	                              │ replace in go.mod
//	tests/check/kubernetes/programs ◀────────┘   upstream's commands, and the hook ─▶ bin/programs
//	tests/check/programs (this) ─▶ a server with a load │ bin/programs on each side, in turn │ the page
//
//	┌──────────┐ pods, Leases  ┌────────────┐      ┌───────┐      ┌──────────────────────────────┐
//	│ fill     │──────────────▶│ etcd and   │─TLS─▶│ relay │─────▶│ bin/programs: manager or     │
//	│ kubelets │               │ API server │      │ bytes │      │ scheduler, and its /look     │
//	└──────────┘               └────────────┘      └───────┘      └──────────────────────────────┘
//
// Reading order: load.go and deployments.go are what stands on the server; fill.go writes it, and kubelet.go plays the
// nodes. process.go and relay.go run a program; standing.go and story.go are the work. campaign.go, keep.go,
// figures.go, families.go and page.go make the page.
//
// # What is shown
//
//   - A program with a standing load of 20,000 pods: time to ready, CPU, live heap, resident memory, requests, bytes.
//   - A story of a small cluster with manager and scheduler: how long a scale-up, a roll-out or a drain takes.
//   - That all informers came through the hook, none of them client-go's, and that /metrics has the same families
//     of informers, queues and clients. Otherwise the run ends with an error, the page being written.
//
// # What is not
//
//   - A kubelet, real or hollow: kubelet.go has pods run as soon as they are bound.
//   - The admission of service accounts is off on this server. The standing pods have its volumes nevertheless, and the
//     pods of the story do not.
//   - Programs that make reflectors of their own.
package main
