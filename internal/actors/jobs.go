package actors

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"glasswatch/controller"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// Jobs plays the Job controller: it makes the Pods of Jobs, and counts what becomes of them. Make it with [NewJobs].
type Jobs struct {
	client  kubernetes.Interface
	jobs    *loop[*batchv1.Job]
	pods    *sharedinformer.Informer[*corev1.Pod] // its events bring the keys of Jobs
	tallies map[types.UID]tally                   // by Job. Only the loop's one worker has them
	refused
}

// tally has the phases of a Job's Pods, also of those that are gone.
type tally map[types.UID]corev1.PodPhase

// NewJobs returns the actor of all namespaces. It does nothing before [Jobs.Run].
func NewJobs(client kubernetes.Interface) *Jobs {
	j := &Jobs{client: client, tallies: map[types.UID]tally{}, refused: make(refused, 1)}
	j.jobs = newLoop("jobs", source[*batchv1.Job](client.BatchV1().Jobs("")),
		func(ctx context.Context, job *batchv1.Job) (time.Duration, error) {
			after, err := j.sync(ctx, listwatch.KeyOf(job))
			return after, ignoreNotFound(err)
		})
	j.pods = sharedinformer.New(source[*corev1.Pod](client.CoreV1().Pods("")), watching[*corev1.Pod]("pods of jobs"))
	return j
}

// Run acts until ctx ends, or until there is a Job that it cannot play. It returns when its goroutines have ended, and
// may be called once.
func (j *Jobs) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	j.jobs.run(ctx, group, j.jobs.informer.WaitForSync)
	group.Go(func() error {
		owners := controller.EnqueueOwner[*corev1.Pod](j.jobs.queue, schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"})
		if _, err := j.pods.AddHandler(owners, sharedinformer.HandlerOptions{}); err != nil {
			return err
		}
		return j.pods.Run(ctx)
	})
	group.Go(func() error { return j.wait(ctx) })
	return group.Wait()
}

// sync brings a Job on. It asks the server for the Job and its Pods, so it always knows of its own writes.
func (j *Jobs) sync(ctx context.Context, key listwatch.Key) (time.Duration, error) {
	job, err := j.client.BatchV1().Jobs(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	isOurs := ptr.Deref(job.Spec.ManagedBy, batchv1.JobControllerName) == batchv1.JobControllerName
	if !isOurs || has(job, batchv1.JobComplete) || has(job, batchv1.JobFailed) {
		return 0, nil
	}
	if err := playable(job); err != nil {
		return 0, j.refuse(err)
	}
	pods, err := j.podsOf(ctx, job)
	if err != nil {
		return 0, err
	}
	before := job.Status.DeepCopy()
	active := j.count(job, pods)
	if reason, message := failure(job); reason != "" {
		if err := j.fail(ctx, job, active, reason, message); err != nil {
			return 0, err
		}
	} else if err := j.manage(ctx, job, active); err != nil {
		return 0, err
	}
	if apiequality.Semantic.DeepEqual(*before, job.Status) {
		return untilDeadline(job), nil
	}
	_, err = j.client.BatchV1().Jobs(job.Namespace).UpdateStatus(ctx, job, metav1.UpdateOptions{FieldManager: fieldManager})
	return 0, err
}

// playable returns an error for what a Job asks for and this actor does not do.
func playable(job *batchv1.Job) error {
	for _, asked := range []struct {
		what string
		is   bool
	}{
		{"completionMode Indexed", ptr.Deref(job.Spec.CompletionMode, batchv1.NonIndexedCompletion) != batchv1.NonIndexedCompletion},
		{"suspend", ptr.Deref(job.Spec.Suspend, false)},
		{"podFailurePolicy", job.Spec.PodFailurePolicy != nil}, // before the next one, which a real server then makes the default
		{"podReplacementPolicy Failed", ptr.Deref(job.Spec.PodReplacementPolicy, batchv1.TerminatingOrFailed) != batchv1.TerminatingOrFailed},
		{"no selector", job.Spec.Selector == nil}, // with manualSelector; a real server refuses it
	} {
		if asked.is {
			return fmt.Errorf("job %s/%s has %s, which is not played", job.Namespace, job.Name, asked.what)
		}
	}
	return nil
}

// podsOf are the Job's own.
func (j *Jobs) podsOf(ctx context.Context, job *batchv1.Job) ([]corev1.Pod, error) {
	list, err := j.client.CoreV1().Pods(job.Namespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(job.Spec.Selector)})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, job) }), nil
}

// count counts the Pods into the Job's status, and returns the active ones.
func (j *Jobs) count(job *batchv1.Job, pods []corev1.Pod) (active []corev1.Pod) {
	phases := j.tallies[job.UID]
	if phases == nil {
		phases = tally{}
		j.tallies[job.UID] = phases
	}
	status := &job.Status
	if status.StartTime == nil {
		now := metav1.Now()
		status.StartTime = &now
	}
	status.Ready, status.Terminating = new(int32), new(int32)
	status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	there := map[types.UID]bool{}
	for _, pod := range pods {
		there[pod.UID] = true
		phase := pod.Status.Phase
		hasEnded := phase == corev1.PodSucceeded || phase == corev1.PodFailed
		switch {
		case hasEnded:
		case pod.DeletionTimestamp != nil:
			*status.Terminating++
			phase = corev1.PodFailed
		default:
			active = append(active, pod)
			if isReady(&pod) {
				*status.Ready++
			}
		}
		phases[pod.UID] = phase
	}
	status.Succeeded, status.Failed = 0, 0
	for uid, phase := range phases {
		switch {
		case phase == corev1.PodSucceeded:
			status.Succeeded++
		case phase == corev1.PodFailed || !there[uid]:
			status.Failed++
		}
	}
	status.Active = int32(len(active))
	return active
}

// failure says why a Job has failed, if it has.
func failure(job *batchv1.Job) (reason, message string) {
	target := find(job, batchv1.JobFailureTarget)
	switch {
	case target != nil:
		return target.Reason, target.Message
	case has(job, batchv1.JobSuccessCriteriaMet):
		return "", ""
	case job.Status.Failed > ptr.Deref(job.Spec.BackoffLimit, 6):
		return batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit"
	case job.Spec.ActiveDeadlineSeconds != nil && untilDeadline(job) <= 0:
		return batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline"
	}
	return "", ""
}

// untilDeadline is the time that a Job has; 0 if there is no limit.
func untilDeadline(job *batchv1.Job) time.Duration {
	if job.Spec.ActiveDeadlineSeconds == nil {
		return 0
	}
	return time.Until(job.Status.StartTime.Add(time.Duration(*job.Spec.ActiveDeadlineSeconds) * time.Second))
}

// fail deletes the active Pods. When all have ended, the Job has failed.
func (j *Jobs) fail(ctx context.Context, job *batchv1.Job, active []corev1.Pod, reason, message string) error {
	if err := j.delete(ctx, job, active); err != nil {
		return err
	}
	finish(job, batchv1.JobFailureTarget, batchv1.JobFailed, reason, message)
	return nil
}

// manage creates the Pods that are missing, and deletes those that are too many. When enough have succeeded, the Job is complete.
func (j *Jobs) manage(ctx context.Context, job *batchv1.Job, active []corev1.Pod) error {
	wanted, isEnough := *job.Spec.Parallelism, false
	if completions := job.Spec.Completions; completions != nil {
		wanted = min(wanted, *completions-job.Status.Succeeded)
		isEnough = job.Status.Succeeded >= *completions
	} else if job.Status.Succeeded > 0 { // one is enough, and the others may end
		wanted, isEnough = int32(len(active)), true
	}
	if job.DeletionTimestamp == nil {
		for range wanted - int32(len(active)) {
			_, err := j.client.CoreV1().Pods(job.Namespace).Create(ctx, podOf(job), metav1.CreateOptions{FieldManager: fieldManager})
			if err != nil {
				return err
			}
			job.Status.Active++
		}
		if err := j.delete(ctx, job, active[min(len(active), max(0, int(wanted))):]); err != nil {
			return err
		}
	}
	if isEnough && len(active) == 0 {
		const reason, message = batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods"
		finish(job, batchv1.JobSuccessCriteriaMet, batchv1.JobComplete, reason, message)
		if has(job, batchv1.JobComplete) {
			now := metav1.Now()
			job.Status.CompletionTime = &now
		}
	}
	return nil
}

// finish adds the first condition, and in a write of its own the last one, when no Pod is active or about to end.
func finish(job *batchv1.Job, first, last batchv1.JobConditionType, reason, message string) {
	add := first
	if has(job, first) {
		add = last
		if job.Status.Active > 0 || *job.Status.Terminating > 0 {
			return
		}
	}
	now := metav1.Now()
	job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: add, Status: corev1.ConditionTrue,
		LastProbeTime: now, LastTransitionTime: now, Reason: reason, Message: message})
}

func podOf(job *batchv1.Job) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: *job.Spec.Template.Spec.DeepCopy()}
	pod.GenerateName = job.Name + "-"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	return pod
}

// delete deletes active Pods.
func (j *Jobs) delete(ctx context.Context, job *batchv1.Job, pods []corev1.Pod) error {
	for _, pod := range pods {
		err := j.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
		if ignoreNotFound(err) != nil {
			return err
		}
		job.Status.Active--
		*job.Status.Terminating++
	}
	return nil
}

func has(job *batchv1.Job, condition batchv1.JobConditionType) bool {
	return find(job, condition) != nil
}

func find(job *batchv1.Job, condition batchv1.JobConditionType) *batchv1.JobCondition {
	at := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
	if at < 0 {
		return nil
	}
	return &job.Status.Conditions[at]
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
