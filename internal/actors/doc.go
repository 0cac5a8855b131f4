// Package actors plays the controllers that an operator's world has and this repository's API servers lack: those of
// Deployments and StatefulSets, and kubelet. It is for demos and tests, on the API server in memory and on a real one.
//
//	operator ──spec──▶ Deployment, ──watch──▶ Workloads ──status──▶ Deployment, ──watch──▶ operator
//	                   StatefulSet                └──▶ claims       StatefulSet
//
// It is also a small example of sharedinformer and controller together: three informers, a loop for each.
//
// # What it promises
//
//   - The status follows the spec, with the fields, condition types, reasons and messages of the real controllers:
//     observedGeneration, the counts of replicas, conditions (Deployment), revisions (StatefulSet).
//   - [Workloads.Hold] keeps Pods from becoming ready. observedGeneration follows the spec also while they are held. So
//     a reader must look at both.
//   - A StatefulSet's claims have the names, labels and owners that the real controller gives them. They are created
//     for each replica and kept, or deleted, as persistentVolumeClaimRetentionPolicy says.
//   - Status is written only if it differs. [Workloads.Run] returns when its goroutines have ended.
//
// # What it does not
//
//   - There are no Pods and no ReplicaSets. A new template is rolled out at once: updatedReplicas never lags, and what
//     was ready before a change of the template still counts as ready while it is held.
//   - A claim stays Pending, as nobody provisions volumes. The finalizer kubernetes.io/pvc-protection, which a real API
//     server adds, is removed at once.
package actors
