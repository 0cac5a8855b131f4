package controllertest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"glasswatch/controller/controllertest"
)

// tasks is an operator on client-go: it runs each ConfigMap's task once, as a Job of its name, records what came of it, and cleans up.
type tasks struct {
	client kubernetes.Interface
	maps   corelisters.ConfigMapLister
	jobs   batchlisters.JobLister
	// cleansFirst is a bug: the Job is deleted before its result is written down.
	cleansFirst bool
}

// runTasks returns the operator's Start.
func runTasks(cleansFirst bool) controllertest.Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		client, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return err
		}
		factory := informers.NewSharedInformerFactory(client, 0)
		maps, jobs := factory.Core().V1().ConfigMaps(), factory.Batch().V1().Jobs()
		o := &tasks{client: client, maps: maps.Lister(), jobs: jobs.Lister(), cleansFirst: cleansFirst}
		return loop(ctx, factory, o.reconcile, maps.Informer(), jobs.Informer())
	}
}

func (o *tasks) reconcile(ctx context.Context, name cache.ObjectName) error {
	task, err := o.maps.ConfigMaps(name.Namespace).Get(name.Name)
	if err != nil || task.Labels["task"] == "" {
		return ignoreNotFound(err)
	}
	job, err := o.jobs.Jobs(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) && task.Annotations["result"] == "running" {
		job, err = o.client.BatchV1().Jobs(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{}) // the cache may be behind
	}
	isThere := err == nil
	if ignoreNotFound(err) != nil {
		return err
	}
	switch result := task.Annotations["result"]; {
	case result == "":
		_, err := o.client.BatchV1().Jobs(name.Namespace).Create(ctx, jobOf(task), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		return o.record(ctx, task, "running")
	case result != "running" && isThere:
		return o.clean(ctx, job)
	case result != "running":
		return nil
	case !isThere:
		return o.record(ctx, task, "lost")
	}
	for _, c := range job.Status.Conditions {
		if c.Type != batchv1.JobComplete && c.Type != batchv1.JobFailed || c.Status != corev1.ConditionTrue {
			continue
		}
		if o.cleansFirst {
			if err := o.clean(ctx, job); err != nil {
				return err
			}
		}
		return o.record(ctx, task, strings.ToLower(string(c.Type)))
	}
	return nil
}

func (o *tasks) record(ctx context.Context, task *corev1.ConfigMap, result string) error {
	task = task.DeepCopy()
	metav1.SetMetaDataAnnotation(&task.ObjectMeta, "result", result)
	_, err := o.client.CoreV1().ConfigMaps(task.Namespace).Update(ctx, task, metav1.UpdateOptions{})
	return err
}

func (o *tasks) clean(ctx context.Context, job *batchv1.Job) error {
	return ignoreNotFound(o.client.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationBackground), Preconditions: metav1.NewUIDPreconditions(string(job.UID))}))
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func jobOf(task *corev1.ConfigMap) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: task.Name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(task, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}},
		Spec: batchv1.JobSpec{BackoffLimit: new(int32(0)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "task", Image: "task:1"}}}}},
	}
}

// twoTasks are one that succeeds and one that fails.
func twoTasks(cleansFirst bool) controllertest.Scenario {
	return controllertest.Scenario{
		Start: runTasks(cleansFirst),
		World: []controllertest.Start{controllertest.Jobs, controllertest.PodsThatExit(func(pod *corev1.Pod) int32 {
			if strings.HasPrefix(pod.Name, "restore") {
				return 1
			}
			return 0
		})},
		Steps: []controllertest.Step{
			controllertest.ApplyText(`{apiVersion: v1, kind: ConfigMap, metadata: {name: backup, labels: {task: "yes"}}}`), controllertest.Settle(),
			controllertest.ApplyText(`{apiVersion: v1, kind: ConfigMap, metadata: {name: restore, labels: {task: "yes"}}}`), controllertest.Settle(),
			controllertest.Delete("configmap/backup"), controllertest.Settle(),
		},
	}
}

func TestTasks_AResultIsLostIfItsJobIsDeletedFirst(t *testing.T) {
	s := twoTasks(true)
	s.Faults = []controllertest.Fault{controllertest.CrashAfter}
	found := map[string]string{}
	for _, finding := range controllertest.Explore(t, s).Findings {
		found[finding.Faults] = finding.Problems[0]
	}
	require.Equal(t, map[string]string{
		"crash after: program delete jobs default/backup #1":  `same state: settled after step 1: ConfigMap default/backup .metadata.annotations.result: want "complete", got "lost"`,
		"crash after: program delete jobs default/restore #1": `same state: settled after step 3: ConfigMap default/restore .metadata.annotations.result: want "failed", got "lost"`,
	}, found)
}

func TestTasks_AResultIsRecordedBeforeItsJobIsDeleted(t *testing.T) {
	s := twoTasks(false)
	s.Sample = 12
	controllertest.Run(t, s)
}
