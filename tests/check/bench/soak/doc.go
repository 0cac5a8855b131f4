// Command soak runs informers for a long time under load and faults, and judges whether anything grows.
//
//	go run ./soak --for 30m --objects 10000 --rate 2000 --out DIR
//
//	 writers ──HTTP──▶ API server ──watch──▶ informer ─▶ handlers: lag, view, slow (folding), controller (workqueue)
//	                    ▲                └──▶ informer with a checkpoint, started anew now and then
//	 faults ────────────┘
//
// The API server is in memory, in this process, behind real HTTP on the loopback interface. Sockets and their buffers
// may leak, too, and a pipe has none.
//
// Read main.go first, then world.go for the informers, load.go and faults.go for the load, sample.go for the samples,
// judge.go for the judgement, output.go for the files.
//
// # What is shown
//
//   - Samples, one a line, in samples.csv, and a picture of each: heap, goroutines, lag, waiting, rate.
//   - The heap after a garbage collection does not grow over the second half, nor do goroutines and lag.
//   - At the end the stores, each handler's last view and the controller's objects equal the server's. When all is
//     stopped, no goroutine is left. Otherwise the exit code is 1, and a line names the fault.
//
// # What is not
//
//   - The layers' memory alone: server and writers live in the same heap. Their memory is bounded: the objects, and a
//     history of 8,000 changes.
//   - The lag of the watch alone: it begins before the write is sent, and goes on through each fault's outage.
package main
