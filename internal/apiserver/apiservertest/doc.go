// Package apiservertest is the harness of all tests that need an API server: it runs one, writes to it and waits for it.
//
//	Start, InBubble ──▶ Server over pipes ───┐
//	StartOnSocket ────▶ Server on a socket ──┴▶ Config, Client ─▶ what is tested
//	                                            Noting, ConfigMaps ─▶ the same; Asked returns its lists and watches
//	Go ─────▶ runs something until the test ends
//	Eventually, Within ▶ wait for a condition; Pass lets virtual time go by
//
// # What is guaranteed
//
//   - When a test ends, the server and what Go started have ended, the last one started first, and their errors fail
//     the test.
//   - A verb that goes wrong fails the test at the caller's line.
//   - A server over pipes and all of its clients run in virtual time, if Start is called in a testing/synctest bubble.
//   - Eventually is the only bound on real time. It is so generous that only a broken program reaches it.
//
// # What is not guaranteed
//
// Miss and Pass work in a bubble only. The verbs must be called from the test's goroutine.
package apiservertest
