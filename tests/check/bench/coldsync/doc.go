// Command coldsync compares the cold start of glasswatch's and client-go's informers on a real API server. It measures
// the time from the start until all handlers know all pods, the cost, and the delay of later updates.
//
//	go run ./coldsync                     20,000 pods, 5 rounds, two storms each; needs bin/controlplane (make controlplane)
//	go run ./coldsync -n 5000 -rounds 3 -variants glasswatch,client-go
//	go run ./coldsync -server embedded    the API server in memory; nothing to build
//	go run ./coldsync -write              docs/results/benchmarks/coldsync.md and bench.out/coldsync.txt, from an idle machine
//
//	   this program                                       the same program, a process for each measurement
//	┌──────────────┐  pods by three writers  ┌────────┐  streaming list  ┌──────────────────────────────┐
//	│ fill         │────────────────────────▶│ API    │─────────────────▶│ subject: glasswatch,         │
//	│ rounds       │  updates, with the time │ server │  watch           │ client-go or floor, observed │
//	│ report       │────────────────────────▶│        │─────────────────▶│ by its handlers              │
//	└──────┬───────┘                         └────────┘                  └──────────────┬───────────────┘
//	       └───────────────────── task ▶ ◀ figures, a line of JSON each ────────────────┘
//
// Read pods.go and fill.go for the pods, and subject.go for the informers. measure.go is the measuring
// process; rounds.go and storm.go start it. figures.go and page.go make the page.
//
// # What is shown
//
//   - Pods as a ReplicaSet controller and a kubelet leave them, made by real requests of three field managers.
//   - Wall and CPU time, bytes allocated, live heap, peak resident memory; then updates: how many a second, how late, and how
//     much CPU each costs. Medians over the rounds, with the least and the greatest, and ratios of like with like.
//   - The floor: a reader of the same bytes that decodes nothing.
//
// # What is not
//
//   - The informer alone: server, writers and the measured process share the cores. On a busy machine all figures vary.
//   - The most that an informer could take: the server limits the second storm, to a few hundred updates a second on
//     two cores.
//   - Windows: the figures are those of getrusage.
//
// With -server and the kubeconfig of a cluster that runs (go run -C tests/check ./controlplane/up), the pods are made once, and
// the next run uses them again. It should have no ReplicaSet controller, scheduler or kubelet, for they would change
// the pods.
package main
