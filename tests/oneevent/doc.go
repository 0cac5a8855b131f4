// Package oneevent holds the test that keeps docs/learn/one-event.md true: the functions that one event passes, in order.
//
// What ran is measured, not written. The test builds the program in the folder probe with -cover, and the program clears the
// counters, lets one event pass, and writes the counters out.
package oneevent
