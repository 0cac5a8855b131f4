// Package lens shows a running informer in the browser, and lets one step it and break it. What moves on the page is a
// call of an observer of the layers: nothing is simulated.
//
//	          ┌────────────────────────────────── World ─────────────────────────────────┐
//	          │ API server ─▶ listwatch ─▶ reflector ─▶ deltafifo ─▶ indexer             │
//	          │   ▲ ▲ sent     decoded      handed       popped       stored             │
//	          │   │ │                                                   │                │
//	          │   │ └─ written ─ controller ◀─ workqueue ◀─ handlers ◀──┘                │
//	          │   │              reconciled    queued       called                      │
//	          └───┼────────────────────┬─────────────────────────────────────────────────┘
//	              │                    │ Event, one for each object at each boundary
//	              │                    ▼
//	acts, faults  │                   Hub: ring, counts ── gate: parks, steps, breakpoints
//	              │                    │
//	              │                    │ ticks: events (sampled), counts, state
//	              └── Lens ── HTTP ────┴──▶ page/
//
// A [World] is what is looked at: the API server in memory, two informers and the ingress controller, made by the
// constructors that everybody calls. The package look has the hub, which takes what the observers report, with the gate
// and the stream. It is told what is looked at: a World, a [Cluster], or the ingress controller with --lens-addr. The
// [Lens] owns a hub and a World, serves them, and replaces the World at a reset. PROTOCOL.md describes what goes over
// HTTP.
//
// # What is real
//
// Events come from the Observe functions of reflector, sharedinformer and controller, and from two places outside the
// layers: the API server, before it sends a frame (sent), and the HTTP transport of the clients (request, written).
// Counts are of those events; state is what the layers themselves say of this moment.
//
// # Guarantees
//
//   - An observer never blocks, unless somebody steps: see look/gate.go. A page that reads slowly holds nobody up.
//   - Events of one object come in the order in which things happened. Seq counts all, without gaps.
//   - What the stream leaves out is counted, and the counts and the state are whole in any case.
//   - A session that is played twice in virtual time gives the same events of each object at each boundary, but for
//     what PROTOCOL.md excepts.
//   - Every fault can be undone. A World that is closed leaves no goroutine, also if the gate was shut.
//   - Of an object one sees kind, key, versions, the label app, and errors that are about it. No value of a Secret is kept.
//
// # While the gate is shut
//
// The goroutine that reported waits, and with it what waits for its locks: doc.go of each layer says what. An
// informer's mutex is held at popped and stored, and with the per-key queue that queue's lock as well. So what this
// package asks of a queue may wait: it is asked from a goroutine, and what it said last is shown meanwhile.
//
// Reading order: in look event.go, hub.go, gate.go, keys.go, causes.go, informer.go, transport.go, view.go,
// stream.go, http.go, guard.go; here pipeline.go, world.go, server.go, faults.go, acts.go, session.go, replay.go,
// http.go; cluster.go, attach.go; and the package beside.
package lens
