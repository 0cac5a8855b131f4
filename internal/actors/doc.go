// Package actors plays the controllers that an operator's world has and this repository's API servers lack: those of
// Deployments, StatefulSets and Jobs, scheduler and kubelet. It is for demos and tests.
//
//	operator ──spec──▶ Deployment, ──watch──▶ Workloads ──status──▶ Deployment, ──watch──▶ operator
//	                   StatefulSet                └──▶ claims       StatefulSet
//	operator ──spec──▶ Job ──watch──▶ Jobs ──▶ Pod ──watch──▶ Pods ──status──▶ Pod ──watch──▶ Jobs ──status──▶ Job
//
// [Workloads] works on the API server in memory and on a real one, [Jobs] and [Pods] on the one in memory only. The
// package is also a small example of sharedinformer and controller together: an informer and a loop for each kind.
//
// # What it promises
//
//   - The status follows the spec, with the fields, condition types, reasons and messages of the real controllers:
//     observedGeneration, the counts of replicas, conditions (Deployment), revisions (StatefulSet).
//   - [Workloads.Hold] keeps Pods from becoming ready. observedGeneration follows the spec also while they are held. So
//     a reader must look at both.
//   - A StatefulSet's claims have the names, labels and owners that the real controller gives them. They are created
//     for each replica and kept, or deleted, as persistentVolumeClaimRetentionPolicy says.
//   - A Job's Pods have its template, its controller reference and a generated name. Its status has the fields, the
//     condition types, reasons and messages of the real controller: SuccessCriteriaMet or FailureTarget first, Complete or
//     Failed when the last Pod has ended. It follows completions, parallelism, backoffLimit and activeDeadlineSeconds.
//   - A Pod is bound, becomes Running and ready, and Succeeded or Failed if it is not to run for ever. If it is deleted, it
//     ends as a container does that heeds SIGTERM, long before its grace period is over (PodGrace of internal/apiserver).
//   - What [Jobs] and [Pods] cannot play ends their Run with an error that names it.
//   - Status is written only if it differs. Run returns when its goroutines have ended.
//
// # What it does not
//
//   - Deployments and StatefulSets have no Pods and no ReplicaSets. A new template is rolled out at once: updatedReplicas never lags, and what
//     was ready before a change of the template still counts as ready while it is held.
//   - A claim stays Pending, as nobody provisions volumes. The finalizer kubernetes.io/pvc-protection, which a real API
//     server adds, is removed at once.
//   - A Job that is suspended or Indexed, or has a podFailurePolicy or podReplacementPolicy Failed, is not played, nor is a
//     container that is started again.
//   - A failed Pod's successor comes at once, without a back-off. ttlSecondsAfterFinished deletes nothing. Pods have no
//     finalizer of their Job's, and uncountedTerminatedPods stays empty.
//   - A Pod has no IP, its init containers and probes take no time, and there are no Nodes. The scheduler writes
//     spec.nodeName, instead of a Binding.
package actors
