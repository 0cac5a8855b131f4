// Package chaos plays seeded schedules of faults to whole informers, and checks that they recover.
//
//	writes ──▶ API server ──▶ proxy ──▶ informer ──▶ handlers that panic and stall
//	               │            │           └──▶ checkpoint on a disk that is full
//	               │            └ half frames, garbage, 410s, silence … (package proxy)
//	               └ compacted, restored from a backup
//
// A seed stands for a kind of informer and for what happens to it. The seeds rotate both queues, streaming and paged lists,
// JSON and protobuf, our own informer and compat/cache's on client-go's clients. Everything lives in a bubble of virtual
// time, HTTP over pipes included, so that waits cost nothing. Now and then the proxy's faults wait, and the store must become the
// server's within three minutes of virtual time. When a schedule is over all faults end, and then, within as long:
//
//   - the store is what the server has: UIDs, versions and contents;
//   - every handler's view, built from its calls, equals the store, and it has synced;
//   - every handler's calls are in order. There is no add of a known object, and no update or deletion of an unknown
//     one. The old object of an update is the handler's last one. A deleted object does not come back. Versions of a
//     name do not go back, except for once per restored backup;
//   - nothing waits: queue and backlogs are empty;
//   - the next three writes arrive, too;
//   - an informer that starts from the checkpoint comes to the same;
//   - when the informer has stopped no goroutine of it is left, and at the end none at all.
//
// # Running
//
//	go test ./tests/chaos                                          8 schedules, some seconds
//	go test ./tests/chaos -v -run 'TestChaos$' -chaos.schedules=1000   as make check does: each fault fires; prints how often
//	go test ./tests/chaos -v -run 'TestChaos$' -chaos.seed=7       one of them, told step by step; a failure prints this line
//
// In tests/check, on a real API server (make controlplane), and with broken reflectors, queues and listeners, each caught:
//
//	go test ./real -v -run TestStories
//	GLASSWATCH_MUTANTS=1 go test ./chaos -v -run ChaosMutants
//
// Beside the schedules, hours_test.go plays one history of five hours whose calls are known exactly.
//
// # How far a seed determines what happens
//
// It determines the informer, the steps and the faults, and with them nearly everything. It does not determine the
// jitter of backoffs, the random length of watches, the order of maps, and UIDs. Nor does it determine the order of
// goroutines that can run at the same moment of virtual time. A failure that depends on one of those may take a few
// runs to come again: -count=20.
//
// # What the schedules leave out, because no client could survive it
//
//   - What package proxy's documentation says that it leaves out.
//   - A backup that was restored without a sign to the clients: see there. Schedules remove the checkpoint after a
//     restore, as its documentation demands.
//   - A version that was given twice because of a restored backup, with resyncs. The informer does not promise that
//     handlers get the second state at once, so it may be the old object of an update.
//   - The checkpoint is used at the end only if every object could be read since the informer started, for otherwise it
//     is not written.
//
// On the real API server there are no restored backups, and hardly any bookmarks; the informer is ours, with short waits.
package chaos
