package controllertest

import (
	"context"
	"strconv"
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

// keepPort gives a Service the port that a ConfigMap says, and looks every ten seconds whether it has it.
func keepPort(ctx context.Context, cfg *rest.Config) error {
	client := kubernetes.NewForConfigOrDie(cfg).CoreV1()
	for ctx.Err() == nil {
		wanted, err := client.ConfigMaps("default").Get(ctx, "port", metav1.GetOptions{})
		service, notFound := client.Services("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && notFound == nil {
			port, _ := strconv.Atoi(wanted.Data["port"])
			if service.Spec.Ports[0].Port != int32(port) {
				service.Spec.Ports[0].Port = int32(port)
				_, _ = client.Services("default").Update(ctx, service, metav1.UpdateOptions{})
			}
		}
		select {
		case <-time.After(10 * time.Second):
		case <-ctx.Done():
		}
	}
	return nil
}

func TestSucceeds_AWriteThatNobodyWantsAnyMore(t *testing.T) {
	wrong := []Step{
		ApplyText("{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}\n" +
			"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: port}, data: {port: '80'}}"),
		Settle(), Patch("configmap/port", `{"data":{"port":"70000"}}`), Settle(),
	}
	s := Scenario{Start: keepPort, Quiet: time.Minute, Limit: 2000, Steps: wrong}
	_, _, err := s.reference(t)
	require.ErrorContains(t, err, "succeeds: program update services default/web is refused")

	s.Steps = append(s.Steps, Patch("configmap/port", `{"data":{"port":"80"}}`), Settle())
	reference, _, err := s.reference(t)
	require.NoError(t, err)
	require.Len(t, reference.gaveUp, 1)
	require.Regexp(t, `^program update services default/web is refused \d+ times, and not tried after the last step; at .* the answer is 422 `, reference.gaveUp[0])
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
