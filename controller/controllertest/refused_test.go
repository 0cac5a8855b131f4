package controllertest_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/controller/controllertest"
)

// record writes down each vault in the namespace "records", as a program does that forgets to make it.
func record(ctx context.Context, c *classic, vault *corev1.ConfigMap) error {
	_, err := c.client.CoreV1().ConfigMaps("records").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: vault.Name}}, metav1.CreateOptions{})
	return err
}

// printedByFailing runs something that is to fail a test, and returns what the test printed.
func printedByFailing(t *testing.T, do func(t *testing.T)) string {
	t.Helper()
	printed, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer printed.Close()
	shown := os.Stdout
	defer func() { os.Stdout = shown }()
	os.Stdout = printed
	passed := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "inner", F: do}})
	os.Stdout = shown
	require.False(t, passed, "the test fails")
	text, err := os.ReadFile(printed.Name())
	require.NoError(t, err)
	return string(text)
}

// An empty play would be what all other plays are compared with.
func TestSucceeds_APlayWithoutFaultsInWhichWritesFailIsNoMeasure(t *testing.T) {
	scenario := controllertest.Scenario{
		Start: start(record),
		Steps: []controllertest.Step{
			controllertest.ApplyText(vault), controllertest.Settle(),
			controllertest.Delete("configmap/web"), controllertest.Settle(), // what ends the tries
		},
		Faults: []controllertest.Fault{controllertest.HoldSeconds},
	}
	printed := printedByFailing(t, func(t *testing.T) { controllertest.Explore(t, scenario) })
	require.Regexp(t, `without faults already: succeeds: program create configmaps records/web is refused 1\d times, and never gets through afterwards; `+
		`at \d+\.\d+s the answer is 404 Not Found: namespaces "records" not found`, printed)

	scenario.Without = map[controllertest.Oracle]string{controllertest.Succeeds: "this test looks at what is legal"}
	require.Empty(t, explore(t, scenario).Findings)
}

func TestSucceeds_AWriteThatGetsThroughLater(t *testing.T) {
	require.Empty(t, explore(t, controllertest.Scenario{
		Start: start(record),
		Steps: []controllertest.Step{
			controllertest.ApplyText(vault), controllertest.Settle(),
			controllertest.ApplyText("{apiVersion: v1, kind: Namespace, metadata: {name: records}}"), controllertest.Settle(),
		},
		Faults:  []controllertest.Fault{controllertest.HoldSeconds},
		Without: map[controllertest.Oracle]string{controllertest.SameState: "the back-off is longer with a fault"},
	}).Findings)
}

// tries lets a program send a write a number of times.
func tries(times int, pause time.Duration, write func(ctx context.Context, client kubernetes.Interface) error) controllertest.Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		for range times {
			_ = write(ctx, kubernetes.NewForConfigOrDie(cfg))
			sleep(pause)(ctx)
		}
		return secretOnce(ctx, cfg) // a write for a fault
	}
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
		start controllertest.Start
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
			scenario := controllertest.Scenario{
				Start: test.start, Faults: []controllertest.Fault{controllertest.ServerError}, Sample: 1,
				Without: map[controllertest.Oracle]string{controllertest.SameState: "secretOnce does not try again"},
				Steps: []controllertest.Step{controllertest.Settle(), controllertest.Wait(time.Minute), controllertest.Settle(),
					controllertest.Wait(time.Minute), controllertest.Settle(), controllertest.Wait(time.Minute), controllertest.Settle()},
			}
			if test.found {
				printed := printedByFailing(t, func(t *testing.T) { controllertest.Explore(t, scenario) })
				require.Contains(t, printed, "succeeds: program update configmaps default/lost is refused 3 times")
				return
			}
			controllertest.Explore(t, scenario)
		})
	}
}
