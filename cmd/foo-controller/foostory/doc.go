// Package foostory is one story of a sample-controller, which every sample-controller must play alike: upstream's
// (tests/check/controllerruntime), and ours (cmd/foo-controller, tests/check/e2e), each on the API server in memory and on a real
// one.
//
//	create ─▶ scale ─▶ refused ─▶ rename ─▶ delete the Deployment ─▶ foreign ─▶ gone ─▶
//	nameless ─▶ held ─▶ restart ─▶ end
//
// [Story] returns a transcript: after each step the objects that changed, and the Events; at the end the lines of the
// log that tell of a key that is gone, a missing name and a retry. [Golden] is the transcript that all must write.
//
// # What is left out of the transcript, because two good runs differ in it
//
//   - UIDs, resourceVersions, and times. That an owner's UID is right, the garbage collector shows in the last step.
//   - The names of Events and how often each was seen. Each sync records one, and how many changes a sync covers
//     depends on time. Instead a step waits until there are more than before, and begins when those
//     of the step before have come.
//   - Retries after a conflict, or after a creation of what the cache did not show yet, and syncs that a stop cut
//     short. Likewise while the API server does not know a definition yet that has just come, and refuses its
//     objects as owners.
package foostory
