// Command soak runs informers for a long time under load and faults, and judges whether anything grows.
//
//	go run ./soak --for 30m --objects 10000 --rate 2000 --out DIR
//
//	 writers ──HTTP──▶ API server ──watch──▶ informer ─▶ handlers: lag, view, slow (folding), controller (workqueue)
//	                    ▲                └──▶ informer with a checkpoint, started anew now and then
//	 faults ────────────┘
//
// The API server is the one in memory, in this process, behind real HTTP on the loopback interface: sockets, their
// buffers and their closing are part of what may leak, and a pipe has none.
//
// Read main.go for the way through, world.go for what runs, load.go and faults.go for what is done to it, sample.go for
// what is measured, judge.go for what is asked of it, output.go for what is left behind.
//
// # What is shown
//
//   - Samples, one a line, in samples.csv, and a picture of each: heap, goroutines, lag, waiting, rate.
//   - The heap after a garbage collection does not grow over the second half, nor do goroutines and lag.
//   - At the end the stores, each handler's last view and what the controller did are what the server has; when all is
//     stopped no goroutine is left. Otherwise the exit code is 1, and a line says what is wrong.
//
// # What is not
//
//   - The layers' memory alone: server and writers live in the same heap. What they hold is bounded: the objects, and a
//     history of 8,000 changes.
//   - The lag of the watch alone: it begins before the write is sent, and goes on through each fault's outage.
package main
