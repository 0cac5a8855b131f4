package actors_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/internal/actors"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// node is a world with Jobs and Pods, in virtual time.
type node struct {
	*testing.T
	kubernetes.Interface
	jobs, pods <-chan error // what the actors returned
}

// onNode plays a story. The containers of Pods whose names begin with "bad" exit with 1.
func onNode(t *testing.T, play func(n *node)) {
	apiservertest.InBubble(t, apiserver.Options{PodGrace: true}, func(t *testing.T, server *apiservertest.Server) {
		n := &node{T: t, Interface: server.Client}
		n.jobs = ending(t, actors.NewJobs(n).Run)
		n.pods = ending(t, actors.NewPods(n, func(pod *corev1.Pod) int32 {
			if strings.HasPrefix(pod.Name, "bad") {
				return 1
			}
			return 0
		}).Run)
		play(n)
		for _, ended := range []<-chan error{n.jobs, n.pods} {
			select {
			case err := <-ended:
				require.NoError(t, err)
			default:
			}
		}
	})
}

// ending lets an actor run until the test ends, and sends what it returns before.
func ending(t *testing.T, run func(context.Context) error) <-chan error {
	ended := make(chan error, 1)
	apiservertest.Go(t, func(ctx context.Context) error {
		ended <- run(ctx)
		return nil
	})
	return ended
}

func (n *node) create(name string, change func(*batchv1.JobSpec)) {
	n.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}}
	job.Spec.Template = template("task:1")
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	if change != nil {
		change(&job.Spec)
	}
	_, err := n.BatchV1().Jobs("default").Create(n.Context(), job, metav1.CreateOptions{})
	require.NoError(n, err)
}

func (n *node) run(name string, restart corev1.RestartPolicy) {
	n.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: template("web:1").Spec}
	pod.Spec.RestartPolicy = restart
	_, err := n.CoreV1().Pods("default").Create(n.Context(), pod, metav1.CreateOptions{})
	require.NoError(n, err)
}

func (n *node) status(name string) batchv1.JobStatus {
	n.Helper()
	job, err := n.BatchV1().Jobs("default").Get(n.Context(), name, metav1.GetOptions{})
	require.NoError(n, err)
	return job.Status
}

// conditions are those of a Job in the order in which they came.
func conditions(status batchv1.JobStatus) (all []string) {
	for _, c := range status.Conditions {
		all = append(all, fmt.Sprint(c.Type, " ", c.Status, " ", c.Reason, ": ", c.Message))
	}
	return all
}

// podsAre are the Pods' phases, and whether they are ready or being deleted.
func (n *node) podsAre() (all []string) {
	n.Helper()
	list, err := n.CoreV1().Pods("default").List(n.Context(), metav1.ListOptions{})
	require.NoError(n, err)
	for _, pod := range list.Items {
		is := string(pod.Status.Phase)
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				is += ", ready"
			}
		}
		if pod.DeletionTimestamp != nil {
			is += ", deleted"
		}
		all = append(all, is)
	}
	return all
}

func TestJobs_AJobIsCompleteWhenItsPodsHaveSucceeded(t *testing.T) {
	onNode(t, func(n *node) {
		n.create("good", func(spec *batchv1.JobSpec) { spec.Completions, spec.Parallelism = new(int32(3)), new(int32(2)) })
		apiservertest.Pass(time.Second)
		began := n.status("good").StartTime
		require.NotNil(n, began)
		require.Equal(n, batchv1.JobStatus{StartTime: began, Active: 2, Ready: new(int32(0)), Terminating: new(int32(0)),
			UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}}, n.status("good"))
		apiservertest.Pass(2 * time.Second)
		require.Equal(n, []string{"Running, ready", "Running, ready"}, n.podsAre())
		require.EqualValues(n, 2, *n.status("good").Ready)
		apiservertest.Pass(5 * time.Second)
		require.EqualValues(n, 2, n.status("good").Succeeded)
		require.EqualValues(n, 1, n.status("good").Active)
		apiservertest.Pass(10 * time.Second)
		require.Equal(n, []string{"Succeeded", "Succeeded", "Succeeded"}, n.podsAre())
		status := n.status("good")
		require.Equal(n, []string{"SuccessCriteriaMet True CompletionsReached: Reached expected number of succeeded pods",
			"Complete True CompletionsReached: Reached expected number of succeeded pods"}, conditions(status))
		require.NotNil(n, status.CompletionTime)
		require.EqualValues(n, 3, status.Succeeded)
		require.Zero(n, status.Active+status.Failed+*status.Ready+*status.Terminating)

		require.NoError(n, n.BatchV1().Jobs("default").Delete(n.Context(), "good", metav1.DeleteOptions{
			PropagationPolicy: new(metav1.DeletePropagationBackground)}))
		apiservertest.Pass(time.Second)
		require.Empty(n, n.podsAre())
	})
}

func TestJobs_AJobHasFailedWhenTooManyOfItsPodsHave(t *testing.T) {
	onNode(t, func(n *node) {
		n.create("bad", func(spec *batchv1.JobSpec) { spec.BackoffLimit = new(int32(1)) })
		apiservertest.Pass(9 * time.Second)
		require.EqualValues(n, 1, n.status("bad").Failed)
		require.Empty(n, conditions(n.status("bad")))
		apiservertest.Pass(10 * time.Second)
		status := n.status("bad")
		require.Equal(n, []string{"FailureTarget True BackoffLimitExceeded: Job has reached the specified backoff limit",
			"Failed True BackoffLimitExceeded: Job has reached the specified backoff limit"}, conditions(status))
		require.EqualValues(n, 2, status.Failed)
		require.Nil(n, status.CompletionTime)
		require.Equal(n, []string{"Failed", "Failed"}, n.podsAre())
	})
}

func TestJobs_ADeadlineEndsThePods(t *testing.T) {
	onNode(t, func(n *node) {
		n.create("good", func(spec *batchv1.JobSpec) {
			spec.ActiveDeadlineSeconds, spec.BackoffLimit = new(int64(4)), new(int32(0))
		})
		apiservertest.Pass(4 * time.Second)
		require.Equal(n, []string{"FailureTarget True DeadlineExceeded: Job was active longer than specified deadline"}, conditions(n.status("good")))
		require.EqualValues(n, 1, *n.status("good").Terminating)
		require.Equal(n, []string{"Running, ready, deleted"}, n.podsAre())
		apiservertest.Pass(3 * time.Second)
		require.Len(n, n.status("good").Conditions, 2)
		require.Equal(n, "Failed True DeadlineExceeded: Job was active longer than specified deadline", conditions(n.status("good"))[1])
		require.Empty(n, n.podsAre())
	})
}

func TestJobs_WhatIsGoneStaysCounted(t *testing.T) {
	onNode(t, func(n *node) {
		n.create("good", func(spec *batchv1.JobSpec) { spec.Completions = new(int32(2)) })
		apiservertest.Pass(9 * time.Second) // one has succeeded, the other one runs
		all := n.CoreV1().Pods("default")
		require.NoError(n, all.DeleteCollection(n.Context(), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{}))
		apiservertest.Pass(20 * time.Second)
		status := n.status("good")
		require.EqualValues(n, 2, status.Succeeded)
		require.EqualValues(n, 1, status.Failed)
		require.NotNil(n, status.CompletionTime)
		require.Equal(n, []string{"Succeeded"}, n.podsAre(), "the last one")
	})
}

func TestPods_RunForEverOrEnd(t *testing.T) {
	onNode(t, func(n *node) {
		n.run("always", corev1.RestartPolicyAlways)
		n.run("bad", corev1.RestartPolicyNever)
		n.run("good", corev1.RestartPolicyNever)
		n.run("once", corev1.RestartPolicyOnFailure)
		apiservertest.Pass(0)
		require.Equal(n, []string{"Pending", "Pending", "Pending", "Pending"}, n.podsAre())
		apiservertest.Pass(2 * time.Second)
		require.Equal(n, []string{"Running, ready", "Running, ready", "Running, ready", "Running, ready"}, n.podsAre())
		apiservertest.Pass(time.Hour)
		require.Equal(n, []string{"Running, ready", "Failed", "Succeeded", "Succeeded"}, n.podsAre())
		bad, err := n.CoreV1().Pods("default").Get(n.Context(), "bad", metav1.GetOptions{})
		require.NoError(n, err)
		require.EqualValues(n, 1, bad.Status.ContainerStatuses[0].State.Terminated.ExitCode)
	})
}

func TestPods_ADeletedOneEndsALittleLater(t *testing.T) {
	onNode(t, func(n *node) {
		n.run("always", corev1.RestartPolicyAlways)
		apiservertest.Pass(3 * time.Second)
		pods := n.CoreV1().Pods("default")
		require.NoError(n, pods.Delete(n.Context(), "always", metav1.DeleteOptions{}))
		apiservertest.Pass(500 * time.Millisecond)
		pod, err := pods.Get(n.Context(), "always", metav1.GetOptions{})
		require.NoError(n, err)
		require.EqualValues(n, 30, *pod.DeletionGracePeriodSeconds)
		require.Equal(n, []string{"Running, ready, deleted"}, n.podsAre())
		apiservertest.Pass(2 * time.Second)
		require.Empty(n, n.podsAre())

		n.run("always", corev1.RestartPolicyAlways)
		apiservertest.Pass(3 * time.Second)
		require.NoError(n, pods.Delete(n.Context(), "always", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
		require.Empty(n, n.podsAre())
	})
}

func TestPods_OneThatSomebodyElseSaysIsWaitingEnds(t *testing.T) {
	onNode(t, func(n *node) {
		n.run("always", corev1.RestartPolicyAlways)
		apiservertest.Pass(3 * time.Second)
		pods := n.CoreV1().Pods("default")
		pod, err := pods.Get(n.Context(), "always", metav1.GetOptions{})
		require.NoError(n, err)
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		_, err = pods.UpdateStatus(n.Context(), pod, metav1.UpdateOptions{})
		require.NoError(n, err)
		require.NoError(n, pods.Delete(n.Context(), "always", metav1.DeleteOptions{}))
		apiservertest.Pass(3 * time.Second)
		require.Empty(n, n.podsAre())
	})
}

func TestActors_NameWhatTheyDoNotPlay(t *testing.T) {
	for what, ask := range map[string]func(*batchv1.JobSpec){
		"suspend":                     func(spec *batchv1.JobSpec) { spec.Suspend = new(true) },
		"podReplacementPolicy Failed": func(spec *batchv1.JobSpec) { spec.PodReplacementPolicy = new(batchv1.Failed) },
		"podFailurePolicy": func(spec *batchv1.JobSpec) {
			spec.PodReplacementPolicy, spec.PodFailurePolicy = new(batchv1.Failed), &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{}}
		},
	} {
		onNode(t, func(n *node) {
			n.create("good", ask)
			select {
			case err := <-n.jobs:
				require.EqualError(n, err, "job default/good has "+what+", which is not played")
			case <-time.After(time.Minute):
				require.Fail(n, "a Job is played", what)
			}
		})
	}
	onNode(t, func(n *node) {
		n.run("bad", corev1.RestartPolicyOnFailure)
		require.ErrorContains(n, <-n.pods, "pod default/bad exits with 1 and is to be started again (restartPolicy OnFailure), which is not played")
	})
}

// counting counts the watches that a client begins.
type counting struct {
	http.RoundTripper
	watches *atomic.Int32
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("watch") {
		c.watches.Add(1)
	}
	return c.RoundTripper.RoundTrip(r)
}

func TestWatches_OfIdleActorsBeginOnce(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{BookmarkInterval: 24 * time.Hour}, func(t *testing.T, server *apiservertest.Server) {
		var watches atomic.Int32
		cfg := rest.CopyConfig(server.Config)
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, &watches} })
		client, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		for _, run := range []func(context.Context) error{actors.New(client, "").Run, actors.NewJobs(client).Run,
			actors.NewPods(client, func(*corev1.Pod) int32 { return 0 }).Run} {
			ending(t, run)
		}
		time.Sleep(11 * time.Hour)
		require.EqualValues(t, 3+2+1, watches.Load())
	})
}
