// Package look is what any running pipeline can be looked at with, without being changed by it. The observers of the
// layers report to a [Hub]. It counts their [Event]s, keeps the last ones, tells readers, and holds events back while
// somebody steps. [Handler] serves that over HTTP, as ../PROTOCOL.md describes. [At] makes an informer that reports and
// can be asked for its state.
//
// [Hub.Report] blocks only for what the gate holds back. An event has kind, key and versions of an object, and nothing
// else of it.
package look
