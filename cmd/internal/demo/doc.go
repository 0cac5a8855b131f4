// Package demo is the frame of the numbered demos: flags, log, an API server or a namespace, aligned output, and the
// clean-up at the end.
//
//	Main ─▶ Run ─▶ flags, log ─┬─ an API server in this process ──┐
//	                           └─ --kubeconfig: a namespace ──────┴─▶ Story.Tell(ctx, *Demo) ─▶ --follow ─▶ next file
//
// # How a demo is written
//
//	cmd/05-deltafifo/main.go        at most 150 lines; if need be two to four files, likewise
//	cmd/05-deltafifo/main_test.go   demotest.Main and demotest.Check: golden file, --help, cluster, Ctrl-C, length
//	cmd/05-deltafifo/testdata/05-deltafifo.golden   written by: go test ./cmd/05-deltafifo -update
//
//	func main() { demo.Main(story) }
//
//	var story = demo.Story{Name: "05-deltafifo", Title: "…", Layer: "deltafifo/deltafifo.go", Next: "docs/learn/tour.md, chapter 4",
//		Tell: demo.Steps(grows, folds)}
//
//	func grows(ctx context.Context, d *demo.Demo) {
//		d.Step("An addition is one delta")                        // numbered, bold
//		d.Did("created ConfigMap %s", "cart")                     // what the demo does
//		cart := demo.Must(d.Client.CoreV1().ConfigMaps(d.Namespace).Create(…))
//		d.Saw("resourceVersion %s", cart.ResourceVersion)         // what came of it, read back and not made up
//		d.Why("a version is opaque: compare for equality only")   // the lesson, dimmed
//	}
//
//	func folds(ctx context.Context, d *demo.Demo) {
//		faults := d.FaultStep("A dropped watch")                  // nil on a cluster, where the step is left out
//		if faults == nil {
//			return
//		}
//		…
//	}
//
// A demo has these helpers: [Demo.Put] and [Demo.Remove] for objects; [Demo.Watch] and [Demo.ConfigMaps] to watch them
// with client-go and with listwatch. [Demo.Crowd] makes many objects, and [Demo.Tape] notes the requests. [Demo.Serve],
// [Demo.Child], [Demo.Ran] and [Demo.TempDir] are for servers, processes and files of the demo, and [Demo.Table] for columns.
// [Demo.Go] runs a function beside the story until the step ends. A [Teller] prints its actions, or a [Handler] takes
// them. Both block it meanwhile, so the story decides the order of events, and no clock. [Demo.EndWatches] ends
// watches, [Demo.Watches] counts them. A demo with state that its steps share gives Story.Tell a function of its own.
//
// A demo must print the same at each run, except for values that demotest masks: durations, sizes, ports, random names,
// UIDs and resourceVersions. Wait for a result ([Eventually], or the event itself) before printing it, and print from
// one goroutine. Sort the contents of maps. A watch from "" begins some time after the server's answer, so start at a
// version if changes follow at once. Columns behind a measured one stay in place with [Millis] and [MiB].
//
// [Must] and [Check] are for demos only: they end the story with the error. A program returns it.
//
// # What is guaranteed
//
//   - On a cluster all happens in one namespace with a random name. It is deleted even after an error, a panic or
//     Ctrl-C. So are the things given to [Demo.Cleanup], such as a definition, whose scope is the cluster. A second
//     Ctrl-C ends the program at once.
//   - Faults are injected into the in-process server only.
//   - Colours are for terminals, unless NO_COLOR is set.
//   - The log is silent unless one of its flags is given: the failures in a story are on purpose.
//
// # What is not
//
//   - A kill -9 leaves the namespace. Its label glasswatch.example.com/demo names the demo.
package demo
