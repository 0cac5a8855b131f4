// Command coldsync measures, against a real API server, how long an informer takes from its start until all its handlers know all
// pods, what that costs, and how late updates arrive afterwards: glasswatch beside client-go.
//
//	go run ./coldsync                     20,000 pods, 5 rounds, two storms each; needs bin/controlplane (make controlplane)
//	go run ./coldsync -n 5000 -rounds 3 -variants glasswatch,client-go
//	go run ./coldsync -server embedded    the API server in memory; nothing to build
//	go run ./coldsync -write              docs/benchmarks/coldsync.{md,txt}, from an idle machine
//
//	   this program                                       the same program, a process for each measurement
//	┌──────────────┐  pods by three writers  ┌────────┐  streaming list  ┌──────────────────────────────┐
//	│ fill         │────────────────────────▶│ API    │─────────────────▶│ subject: glasswatch,         │
//	│ rounds       │  updates, with the time │ server │  watch           │ client-go or floor, observed │
//	│ report       │────────────────────────▶│        │─────────────────▶│ by its handlers              │
//	└──────┬───────┘                         └────────┘                  └──────────────┬───────────────┘
//	       └───────────────────── task ▶ ◀ figures, a line of JSON each ────────────────┘
//
// Read pods.go and fill.go for what is read, subject.go for who reads it, measure.go and usage.go for the measuring
// process, rounds.go and storm.go for who starts it, figures.go and page.go for what comes of it.
//
// # What is shown
//
//   - Pods such as a ReplicaSet controller and a kubelet leave behind, made by real requests of three field managers.
//   - Wall and CPU time, bytes allocated, live heap, peak resident memory; then updates: how many a second, how late, and how
//     much CPU each costs. Medians over the rounds, with the least and the greatest, and ratios of like with like.
//   - The floor: who reads the same bytes and decodes nothing.
//
// # What is not
//
//   - The informer alone: server, writers and the measured process share the cores. A busy machine blurs all of it.
//   - What an informer could take: the second storm is of as many updates as the server does, on two cores a few hundred a second.
//   - Windows: the figures are those of getrusage.
//
// With -server and the kubeconfig of a cluster that runs (go run ./tests/controlplane/up), the pods are made once and are there
// for the next run. It should have no ReplicaSet controller, scheduler or kubelet: they would work on the pods.
package main
