// Package controllertest finds out what a controller does when something breaks between two of its requests.
//
// It runs the program against an API server in memory, in virtual time: first without faults, and then once for each fault at each request
// where that fault makes sense. So "the program dies after its third write, and its cache is six minutes behind when it starts again" is a
// test of some milliseconds. [Run] is the way in, a [Scenario] is what it takes.
//
// # Five ideas
//
//	                       ┌── door ◀── the program under test
//	API server in memory ──┤            each request has a name, at which a fault can happen:
//	                       │            "program create secrets default/web #1"
//	                       └── door ◀── the user's steps, and others at work
//
//	play 0      start ─ apply ─ settle ─ delete ─ settle ─ end      which requests are there, and what is the state?
//	play 1            ✗ 500 at the first write                      the same state? the invariant? …
//	play 2            ✗ crash after the first write
//	 …
//
// In words:
//
//  1. A play is the whole scenario, from an empty server to the end of the program, in a testing/synctest bubble. Time passes only while
//     everybody waits, so an hour of it takes milliseconds.
//  2. The program has a door of its own to the server. What comes through it is named by its words: verb, resource, object, and how many
//     requests had these words before.
//  3. The play without faults says which requests there are, and what the objects are in the end. It is played twice: what differs is
//     chance, and is not compared. Where users act again before all has settled, it is also played with their steps at other times: these
//     ends are legal, too, unless Always is broken there (legal.go).
//  4. A fault is a kind of trouble at a named request. See the constants of type [Fault]: those in the first list hit a write of the program,
//     those in the second one what the program sees of somebody's write, and those in the third one its clock. Each plan has one fault, with -controllertest.pairs two.
//  5. Oracles ask whether the play ended well. See the constants of type [Oracle]. If not, it is a [Finding]: the plan of faults,
//     what was wrong, and the story of who wrote what and when the program saw it.
//
// # What a program needs
//
// It takes a *rest.Config and ends when its context does. Whether it is written with client-go, controller-runtime or glasswatch does not
// matter, and nothing in it changes. Turn off what has no place in virtual time: real sockets (metrics and webhooks: address "0"), leader
// election (the hand-over is one of the faults), files that are watched. With controller-runtime set SkipNameValidation, since the program
// starts many times in one process. While Run plays, utilruntime.ErrorHandlers do nothing: one of them
// keeps a time in a global variable, and in another bubble that time may be years away. And garbage may grow to four times of what is in
// use (GOGC), which saves collections.
//
// # Guarantees
//
//   - The server answers as a real one; tests/check/wire holds it to that. Every state that a fault leads to is one that a cluster can be
//     in: old lists, for example, are shown only to those who ask for resourceVersion 0.
//   - Nothing real is waited for. The steps of a scenario, the faults and the program's own back-off all pass in virtual time. A program or a
//     step that hangs, and one that tries again without a pause, is a finding: steps have an hour, the end has five minutes, a write
//     takes a millisecond and a request without an answer a tenth of a second.
//   - In one play Always is asked about one write after the other, and holds up the server meanwhile: it must not send requests. The
//     functions of steps, of World and Always are to return errors. A panic, or the runtime.Goexit of require and t.FailNow, is a finding.
//   - A program that ends is started again with the back-off of a kubelet: after a second, then after ten, twice as long each time, and at
//     most after five minutes.
//   - [Settle] returns when nobody has written for [Scenario.Quiet] and when no fault is going on, nor its consequences for a back-off.
//     So by default users act only when all is well. [Wait] lets them act during a fault.
//   - A plan of faults is named by requests, and so finds the same place again. What did not come to pass is in [Report.NotFired].
//   - Two states are the same if their objects have the same values, apart from UIDs, versions, times, managed fields, generations, and the
//     addresses and ports that a Service gets. Names that the server made are replaced by what stands for them, also inside
//     longer names and texts.
//
// # What is not guaranteed
//
//   - Plays run at the same time, on all processors. What Start, World, Steps and Always share, such as a variable that they are closures
//     over, needs a lock, and is shared by all plays.
//   - A program that computes without a pause, or only reads, takes no virtual time: then go test's -timeout names the play. A panic in a
//     goroutine that the program has started itself ends the test's process.
//   - Goroutines of the program that nothing orders run in the order that Go's scheduler chooses. Writes come in the order of virtual time,
//     a millisecond each. What depends on the order of goroutines within one moment may come out differently.
//   - Controllers of a cluster are not there, but for the garbage collector. [Workloads] plays those of Deployments and StatefulSets, [Jobs] that
//     of Jobs, [Pods] scheduler and kubelet. The server has no admission webhooks, no quota and no rules in CEL.
//   - Reads of single objects fail only while the server is away ([Outage]). Leases, Events and reviews of Kubernetes' own groups have no
//     names, hence no faults; neither have writes before the program's first start. A program that is late or early ([ClockBehind],
//     [ClockAhead]) is so by the times in Leases only; its caches keep what they were sent until the next renewal.
//   - What the program keeps in global variables outlives its crash.
package controllertest
