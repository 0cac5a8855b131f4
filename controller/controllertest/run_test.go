package controllertest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/controller/controllertest"
)

// secretOnce creates a Secret at each start, and waits.
func secretOnce(ctx context.Context, cfg *rest.Config) error {
	_, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("default").Create(ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "once"}}, metav1.CreateOptions{})
	<-ctx.Done()
	return err
}

func explore(t *testing.T, s controllertest.Scenario) controllertest.Report {
	t.Helper()
	if s.Steps == nil {
		s.Steps = []controllertest.Step{controllertest.Settle()}
	}
	return controllertest.Explore(t, s)
}

func only(t *testing.T, report controllertest.Report) controllertest.Finding {
	t.Helper()
	require.Len(t, report.Findings, 1, "%v", report.Findings)
	return report.Findings[0]
}

func TestSameState_IsBrokenByARefusedWriteThatIsNotRepeated(t *testing.T) {
	report := explore(t, controllertest.Scenario{Start: secretOnce, Faults: []controllertest.Fault{controllertest.ServerError}})
	finding := only(t, report)
	require.Equal(t, "500 error: program create secrets default/once #1", finding.Faults)
	require.Equal(t, []controllertest.Oracle{controllertest.SameState}, finding.Broken)
	require.Contains(t, finding.Problems[0], "Secret default/once")
	require.Contains(t, finding.Problems[0], "got nothing")
	require.Contains(t, finding.Story, "create secrets default/once #1: 500 Internal Server Error")
}

func TestWithout_SwitchesAnOracleOff(t *testing.T) {
	report := explore(t, controllertest.Scenario{Start: secretOnce, Faults: []controllertest.Fault{controllertest.ServerError},
		Without: map[controllertest.Oracle]string{controllertest.SameState: "this test looks at the other oracles"}})
	require.Empty(t, report.Findings)
}

func TestIgnore_KeepsAKindOrAFieldOut(t *testing.T) {
	for _, ignore := range []string{"Secret", "Secret .type"} {
		report := explore(t, controllertest.Scenario{Start: secretOnce, Faults: []controllertest.Fault{controllertest.ServerError},
			Ignore: map[string]string{ignore: "this test does not look at it"}})
		if ignore == "Secret" {
			require.Empty(t, report.Findings)
			continue
		}
		for _, problem := range only(t, report).Problems {
			require.NotContains(t, problem, ".type")
		}
	}
}

// onConflict writes in a loop once it has seen a conflict.
func onConflict(ctx context.Context, cfg *rest.Config) error {
	maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
	loops := false
	for n := 0; ctx.Err() == nil; n++ {
		web, err := maps.Get(ctx, "web", metav1.GetOptions{})
		if err == nil && (loops || web.Data["seen"] == "") {
			web.Data = map[string]string{"seen": fmt.Sprint(n)}
			_, err = maps.Update(ctx, web, metav1.UpdateOptions{})
			loops = loops || err != nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return nil
}

func TestSettles_IsBrokenByAControllerThatWritesForEver(t *testing.T) {
	report := explore(t, controllertest.Scenario{Start: onConflict, Faults: []controllertest.Fault{controllertest.Conflict},
		Steps: []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle()}})
	finding := only(t, report)
	require.Contains(t, finding.Broken, controllertest.Settles)
	require.Contains(t, strings.Join(finding.Problems, "\n"), "The last ones are\n    program update configmaps default/web #")
}

// onRefusal does something after its write was refused, and returns when ctx ends.
func onRefusal(do func(ctx context.Context)) controllertest.Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		_, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("default").Create(ctx,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "once"}}, metav1.CreateOptions{})
		if apierrors.IsInternalError(err) {
			do(ctx)
		}
		<-ctx.Done()
		return nil
	}
}

func TestStops_IsBrokenByAStartThatStays(t *testing.T) {
	stays := onRefusal(func(context.Context) { time.Sleep(24 * time.Hour) })
	report := explore(t, controllertest.Scenario{Start: stays, Faults: []controllertest.Fault{controllertest.ServerError}})
	require.Contains(t, strings.Join(only(t, report).Problems, "\n"), "stops: Start does not return within five minutes")
}

// stayForEver is what TestMain allows to stay.
func stayForEver() { select {} }

func TestStops_IsBrokenByAGoroutineThatStays(t *testing.T) {
	leaks := onRefusal(func(context.Context) { go stayForEver() })
	report := explore(t, controllertest.Scenario{Start: leaks, Faults: []controllertest.Fault{controllertest.ServerError}})
	finding := only(t, report)
	require.Contains(t, finding.Broken, controllertest.Stops)
	require.Contains(t, strings.Join(finding.Problems, "\n"), "waits in glasswatch/controller/controllertest_test.stayForEver")
}

func TestReplay_ThePlanIsFoundAgain(t *testing.T) {
	first := explore(t, controllertest.Scenario{Start: start(createThenRecord), Always: oneSecret,
		Steps: []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle()}})
	require.NotEmpty(t, first.Findings)
	second := explore(t, controllertest.Scenario{Start: start(createThenRecord), Always: oneSecret,
		Steps: []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle()}})
	var names [2][]string
	for i, report := range []controllertest.Report{first, second} {
		require.Equal(t, report.Planned, report.Fired)
		for _, finding := range report.Findings {
			names[i] = append(names[i], finding.Faults)
		}
	}
	require.Equal(t, names[0], names[1])
}
