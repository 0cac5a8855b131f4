package controllertest_test

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	require.Contains(t, finding.Problems[0], "Secret default/once: missing")
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
	report := explore(t, controllertest.Scenario{Start: onConflict, Faults: []controllertest.Fault{controllertest.Conflict}, Limit: 200,
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
	for range 2 { // the second one does not name the goroutine of the first one
		report := explore(t, controllertest.Scenario{Start: leaks, Faults: []controllertest.Fault{controllertest.ServerError}})
		finding := only(t, report)
		require.Contains(t, finding.Broken, controllertest.Stops)
		require.Contains(t, strings.Join(finding.Problems, "\n"), "1 goroutines: waits in glasswatch/controller/controllertest_test.stayForEver")
	}
}

// setFlag sets a flag of the package while the test runs.
func setFlag(t *testing.T, name, value string) {
	t.Helper()
	setFlagOf(t, "controllertest", name, value)
}

func setFlagOf(t *testing.T, of, name, value string) {
	t.Helper()
	f := flag.Lookup(of + "." + name)
	before := f.Value.String()
	require.NoError(t, f.Value.Set(value))
	t.Cleanup(func() { _ = f.Value.Set(before) })
}

func TestReplay_ThePlanIsFoundAgain(t *testing.T) {
	scenario := controllertest.Scenario{Start: start(createThenRecord), Always: oneSecret,
		Faults: []controllertest.Fault{controllertest.CrashAfter, controllertest.Conflict},
		Steps:  []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle()}}
	setFlag(t, "pairs", "3")
	all := explore(t, scenario)
	require.True(t, slices.ContainsFunc(all.Findings, func(f controllertest.Finding) bool { return strings.Contains(f.Faults, " + ") }), "a pair")
	setFlag(t, "pairs", "0")
	for _, finding := range all.Findings {
		setFlag(t, "fault", finding.Faults)
		again := explore(t, scenario)
		require.Equal(t, 1, again.Planned)
		require.Equal(t, finding.Faults, only(t, again).Faults)
		require.Equal(t, finding.Broken, only(t, again).Broken)
	}
}

// A finding does not fail a test of Explore, which may want to see others.
func TestFailfast_IsNothingToExplore(t *testing.T) {
	setFlagOf(t, "test", "failfast", "true")
	report := explore(t, controllertest.Scenario{Start: start(createThenRecord), Always: oneSecret,
		Faults: []controllertest.Fault{controllertest.CrashAfter, controllertest.Conflict, controllertest.LoseAnswer},
		Steps:  []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle()}})
	require.Equal(t, report.Planned, report.Fired)
	require.Greater(t, len(report.Findings), 1)
}

func TestSample_PlaysSomeOfThePlans(t *testing.T) {
	scenario := controllertest.Scenario{Start: start(createByName), Sample: 2, Faults: []controllertest.Fault{controllertest.HoldSeconds, controllertest.TooMany},
		Steps: []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle()}}
	require.Equal(t, 2, explore(t, scenario).Planned)
	setFlag(t, "all", "true")
	require.Equal(t, 3, explore(t, scenario).Planned)
}

// create creates a Secret, whatever the answer.
func create(ctx context.Context, cfg *rest.Config, name string) {
	_, _ = kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("default").Create(ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
}

func TestReport_SaysWhichPlansDidNotFire(t *testing.T) {
	l := &life{}
	report := explore(t, controllertest.Scenario{
		Start: func(ctx context.Context, cfg *rest.Config) error {
			l.count(&l.starts)
			if l.starts <= 2 { // without faults
				create(ctx, cfg, "rare")
			}
			<-ctx.Done()
			return nil
		},
		Faults: []controllertest.Fault{controllertest.ServerError},
		Ignore: map[string]string{"Secret": "this test looks at plans"},
	})
	require.Equal(t, 0, report.Fired)
	require.Equal(t, []string{"500 error: program create secrets default/rare #1"}, report.NotFired)
}

func TestSameState_LeavesToChanceWhatPlaysWithoutFaultsDo(t *testing.T) {
	report := explore(t, controllertest.Scenario{
		Start: func(ctx context.Context, cfg *rest.Config) error {
			secrets := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("default")
			for ctx.Err() == nil {
				_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "once"},
					StringData: map[string]string{"password": rand.Text()}}, metav1.CreateOptions{})
				if err == nil || apierrors.IsAlreadyExists(err) {
					break
				}
				time.Sleep(time.Second)
			}
			<-ctx.Done()
			return nil
		},
		Faults: []controllertest.Fault{controllertest.ServerError, controllertest.CrashAfter},
	})
	require.Equal(t, 2, report.Fired)
	require.Empty(t, report.Findings)
}

// rotate gives the Secret "once" a new token at each start.
func rotate(ctx context.Context, cfg *rest.Config) error {
	secrets := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("default")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "once"}, Data: map[string][]byte{"token": []byte(rand.Text())}}
	_, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	<-ctx.Done()
	return err
}

// What is left to chance is not compared, but Always may remember values by UID: no two plays have the same.
func TestAlways_MayAskWhetherARandomValueStays(t *testing.T) {
	scenario := controllertest.Scenario{Start: rotate, Faults: []controllertest.Fault{controllertest.CrashAfter}}
	require.Empty(t, explore(t, scenario).Findings)
	var tokens sync.Map
	scenario.Always = func(v controllertest.View) error {
		for _, secret := range v.Kind("Secret") {
			token, _, _ := unstructured.NestedString(secret.Object, "data", "token")
			before, known := tokens.LoadOrStore(secret.GetUID(), token)
			if known && before != token {
				return fmt.Errorf("the token of %s has changed", secret.GetName())
			}
		}
		return nil
	}
	require.Equal(t, []controllertest.Oracle{controllertest.Invariant}, only(t, explore(t, scenario)).Broken)
}

// printedBy returns what a test prints with -v.
func printedBy(t *testing.T, do func(t *testing.T)) string {
	t.Helper()
	setFlagOf(t, "test", "v", "true")
	return printed(t, do)
}

// printed returns what a test prints.
func printed(t *testing.T, do func(t *testing.T)) string {
	t.Helper()
	setFlagOf(t, "test", "count", "1")
	out, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer out.Close()
	shown := os.Stdout
	defer func() { os.Stdout = shown }()
	os.Stdout = out
	testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "inner", F: do}})
	text, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	return string(text)
}

// Without -v, too.
func TestRun_TellsABugOnceAndEndsWithTheSummary(t *testing.T) {
	setFlagOf(t, "test", "v", "false")
	scenario := controllertest.Scenario{Start: start(createThenRecord), Always: oneSecret,
		Faults: []controllertest.Fault{controllertest.CrashAfter, controllertest.LoseAnswer, controllertest.Conflict},
		Steps:  []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle()}}
	text := printed(t, func(t *testing.T) { controllertest.Run(t, scenario) })
	require.Contains(t, text, "--- FAIL: inner")
	require.Equal(t, 1, strings.Count(text, "play it again: go test"))
	require.Contains(t, text, "the same in 2 more plans:")
	require.Regexp(t, `2 writes of the program, 5 plans of faults, of which 5 came to pass and hit 2 requests; 3 findings in 1 groups; .* plans a second\n$`, text)

	setFlag(t, "fault", "answer lost: program create secrets default/web-* #1")
	text = printed(t, func(t *testing.T) { controllertest.Run(t, scenario) })
	require.Contains(t, text, "*** answer lost")
	require.NotContains(t, text, "the same in")
}

func TestChance_IsToldOnceAndNotAtAnyLength(t *testing.T) {
	scenario := controllertest.Scenario{
		Start: func(ctx context.Context, cfg *rest.Config) error {
			values := map[string]string{}
			for n := range 12 {
				values[fmt.Sprintf("key%02d", n)] = rand.Text()
			}
			_, _ = kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default").Create(ctx,
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "once"}, Data: values}, metav1.CreateOptions{})
			<-ctx.Done()
			return nil
		},
		Steps:  []controllertest.Step{controllertest.Settle(), controllertest.Wait(time.Second), controllertest.Settle()},
		Faults: []controllertest.Fault{controllertest.LoseAnswer},
	}
	printed := printedBy(t, func(t *testing.T) { controllertest.Explore(t, scenario) })
	require.Equal(t, 1, strings.Count(printed, "key00"))
	require.Contains(t, printed, "key09")
	require.NotContains(t, printed, "key10")
	require.Contains(t, printed, "differ at … and 2 more")
}

func TestSameState_AtTheEndABackoffIsOver(t *testing.T) {
	require.Empty(t, explore(t, controllertest.Scenario{
		Start:  untilItWorks(sleep(10 * time.Minute)),
		Faults: []controllertest.Fault{controllertest.ServerError},
		Steps:  []controllertest.Step{controllertest.Wait(time.Second)},
	}).Findings)
}

// Each object has a name that the server made, or one that follows from such a name.
func TestSameState_DoesNotTellNamesThatFollowFromGeneratedOnes(t *testing.T) {
	report := explore(t, controllertest.Scenario{
		Start: func(ctx context.Context, cfg *rest.Config) error {
			client := kubernetes.NewForConfigOrDie(cfg).CoreV1()
			for ctx.Err() == nil {
				team, err := client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "team-"}}, metav1.CreateOptions{})
				for err == nil && ctx.Err() == nil {
					_, refused := client.ConfigMaps(team.Name).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: team.Name + "-config"},
						Data: map[string]string{"for": "the members of " + team.Name}}, metav1.CreateOptions{})
					if refused == nil {
						<-ctx.Done()
					}
					sleep(time.Second)(ctx)
				}
				sleep(time.Second)(ctx)
			}
			return nil
		},
		Faults: []controllertest.Fault{controllertest.ServerError},
	})
	require.Equal(t, 2, report.Fired, "not fired: %v", report.NotFired)
	require.Empty(t, report.Findings)
}
