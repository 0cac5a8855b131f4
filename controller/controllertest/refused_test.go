package controllertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// tries lets a program send a write a number of times.
func tries(times int, pause time.Duration, write func(ctx context.Context, client kubernetes.Interface) error) Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		for n := 0; n < times && ctx.Err() == nil; n++ {
			_ = write(ctx, kubernetes.NewForConfigOrDie(cfg))
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
		<-ctx.Done()
		return nil
	}
}

// record writes something down in the namespace "records".
func record(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.CoreV1().ConfigMaps("records").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.CreateOptions{})
	return err
}

// An empty play would be what all other plays are compared with.
func TestSucceeds_APlayWithoutFaultsInWhichWritesFailIsNoMeasure(t *testing.T) {
	s := Scenario{Start: tries(12, 2*time.Second, record), Quiet: 30 * time.Second, Limit: 2000, Steps: []Step{Settle(), Wait(time.Minute), Settle()}}
	_, _, err := s.reference(t)
	require.ErrorContains(t, err, "without faults already: succeeds: program create configmaps records/web is refused 12 times, and never gets through afterwards; "+
		`at 22.012s the answer is 404 Not Found: namespaces "records" not found`)
	require.ErrorContains(t, err, "program create configmaps records/web #12: 404 Not Found")

	s.Without = map[Oracle]string{Succeeds: "this test looks at what is legal"}
	require.NoError(t, s.validate())
	_, _, err = s.reference(t)
	require.NoError(t, err)
}

func TestSucceeds_AWriteThatGetsThroughLater(t *testing.T) {
	s := Scenario{Start: tries(40, 2*time.Second, record), Quiet: 30 * time.Second, Limit: 2000, Steps: []Step{
		Settle(), ApplyText("{apiVersion: v1, kind: Namespace, metadata: {name: records}}"), Settle()}}
	_, _, err := s.reference(t)
	require.NoError(t, err)
}

func TestSucceeds_WhatIsNotAskedFor(t *testing.T) {
	lost := func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().ConfigMaps("default").Update(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "lost"}}, metav1.UpdateOptions{})
		return err
	}
	dry := func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().ConfigMaps("default").Update(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "lost"}},
			metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	taken := func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
		return err
	}
	gone := func(ctx context.Context, client kubernetes.Interface) error {
		return client.CoreV1().ConfigMaps("default").Delete(ctx, "lost", metav1.DeleteOptions{})
	}
	for _, test := range []struct {
		name  string
		start Start
		found bool
	}{
		{"an object that is not there", tries(3, time.Second, lost), true},
		{"twice only", tries(2, time.Second, lost), false},
		{"within a moment", tries(20, time.Millisecond, lost), false},
		{"once after each step", tries(5, 90*time.Second, lost), false},
		{"dry runs", tries(5, time.Second, dry), false},
		{"a name that is taken", tries(5, time.Second, taken), false},
		{"a deletion of what is gone", tries(5, time.Second, gone), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := Scenario{Start: test.start, Quiet: 30 * time.Second, Limit: 2000, Steps: []Step{
				Settle(), Wait(time.Minute), Settle(), Wait(time.Minute), Settle(), Wait(time.Minute), Settle()}}
			_, _, err := s.reference(t)
			if test.found {
				require.ErrorContains(t, err, "succeeds: program update configmaps default/lost is refused 3 times")
				return
			}
			require.NoError(t, err)
		})
	}
}
