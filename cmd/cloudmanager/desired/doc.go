// Package desired says what a CloudManager asks for, and not how that comes about. It has no client and no cache.
// Two operators share it: cmd/cloudmanager, and one on controller-runtime in tests/check/controllerruntime/cloudmanager.
//
//	front ─gate─▶ identity ─gate─▶ Secret ─▶ Service and StatefulSet ─gate─▶ leftovers are removed
//
// An operator goes through [Stages] in order. For each [Child] it looks up the object, asks [Relate] whose it is, and
// lets Child.Set put the owned fields right. It writes if that changed something. A stage is passed when [Open] says so
// of each of its objects. What the pass came to is a [Finding], and [Status] makes the status of it.
//
// # What is owned
//
//   - Fields that Set does not mention are left alone: replicas, sidecars, resources, other labels.
//   - Deployments, the StatefulSet and the Service are controlled by the CloudManager. They go when it goes.
//   - The claims stay when the StatefulSet goes: see its persistentVolumeClaimRetentionPolicy.
//   - The Secret <name>auth is marked by labels and has no owner. It stays with the claims, for the data on them cannot
//     be opened without the password. A CloudManager of the same name takes both up again.
package desired
