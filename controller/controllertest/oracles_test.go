package controllertest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/controller/controllertest"
)

// tickForEver is what TestMain allows to stay.
func tickForEver() {
	for {
		time.Sleep(10 * time.Second)
	}
}

// untilItWorks creates a Secret until the server agrees, and calls after for each refusal.
func untilItWorks(after func(ctx context.Context)) controllertest.Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		secrets := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("default")
		for ctx.Err() == nil {
			_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "once"}}, metav1.CreateOptions{})
			if err == nil {
				break
			}
			after(ctx)
		}
		<-ctx.Done()
		return nil
	}
}

// thenBad creates the Secret "bad" after a refusal, and does something more.
func thenBad(more func()) controllertest.Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		secrets := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("default")
		_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "once"}}, metav1.CreateOptions{})
		if apierrors.IsInternalError(err) {
			_, _ = secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bad"}}, metav1.CreateOptions{})
			more()
		}
		<-ctx.Done()
		return nil
	}
}

// afterRefusal runs something after a refusal.
func afterRefusal(run controllertest.Start) controllertest.Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		_, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("default").Create(ctx,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "once"}}, metav1.CreateOptions{})
		if apierrors.IsInternalError(err) {
			_ = run(ctx, cfg)
		}
		<-ctx.Done()
		return nil
	}
}

// mark writes the same value into a ConfigMap, so many times.
func mark(period time.Duration, value string, times int) controllertest.Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
		_, _ = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.CreateOptions{})
		for n := 0; n < times && ctx.Err() == nil; n++ {
			_, _ = maps.Patch(ctx, "web", types.MergePatchType, []byte(`{"data":{"by":"`+value+`"}}`), metav1.PatchOptions{})
			sleep(period)(ctx)
		}
		return nil
	}
}

// addFinalizer adds a finalizer and forgets it.
func addFinalizer(ctx context.Context, cfg *rest.Config) error {
	maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
	for ctx.Err() == nil {
		_, err := maps.Patch(ctx, "web", types.MergePatchType, []byte(`{"metadata":{"finalizers":["`+finalizer+`"]}}`), metav1.PatchOptions{})
		if err == nil {
			return nil
		}
		sleep(time.Second)(ctx)
	}
	return nil
}

// onlyIfNew ends with an error if its Secret is there already, after a while: each start costs the test some milliseconds.
func onlyIfNew(ctx context.Context, cfg *rest.Config) error {
	_, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("default").Get(ctx, "once", metav1.GetOptions{})
	if err == nil {
		sleep(15 * time.Minute)(ctx)
		return errors.New("the secret is there already")
	}
	return secretOnce(ctx, cfg)
}

// ifBad is an invariant that does something if the Secret "bad" is there.
func ifBad(do func() error) func(controllertest.View) error {
	return func(v controllertest.View) error {
		if v.Get("Secret", "default", "bad") == nil {
			return nil
		}
		return do()
	}
}

// until is a step, or somebody of the World, that waits for a Secret.
func until(name string, result error) controllertest.Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		secrets := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("default")
		for ctx.Err() == nil {
			if _, err := secrets.Get(ctx, name, metav1.GetOptions{}); err == nil {
				return result
			}
			sleep(time.Minute)(ctx)
		}
		return ctx.Err()
	}
}

func sleep(d time.Duration) func(context.Context) {
	return func(ctx context.Context) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
}

// Each program does something wrong after the fault has hit its first write. That is a finding, and never a test that hangs.
func TestOracles_EachFindsWhatItIsFor(t *testing.T) {
	for _, test := range []struct {
		name   string
		fault  controllertest.Fault
		start  controllertest.Start
		always func(controllertest.View) error
		steps  []controllertest.Step
		world  []controllertest.Start
		oracle controllertest.Oracle
		says   string
	}{
		{name: "refused writes without a pause", fault: controllertest.LoseAnswer, start: untilItWorks(func(context.Context) {}),
			oracle: controllertest.Settles, says: "it is stopped"},
		{name: "a refused write each quarter of an hour", fault: controllertest.LoseAnswer, start: untilItWorks(sleep(15 * time.Minute)),
			oracle: controllertest.StaysQuiet, says: "3 tries to write in 40m0s"},
		{name: "refused writes ten times a second", fault: controllertest.LoseAnswer, start: untilItWorks(sleep(100 * time.Millisecond)),
			oracle: controllertest.Paces, says: "the program has tried to write secrets default/once 101 times within"},
		{name: "writes that change nothing", fault: controllertest.ServerError, start: afterRefusal(mark(time.Second, "same", 40)),
			oracle: controllertest.Paces, says: "31 writes of configmaps default/web within"},
		{name: "two that fight", fault: controllertest.ServerError, start: afterRefusal(mark(400*time.Millisecond, "program", 200)),
			world:  []controllertest.Start{mark(400*time.Millisecond, "world", 200)},
			oracle: controllertest.Paces, says: "two fight over it"},
		{name: "a finalizer that nobody removes", fault: controllertest.ServerError, start: afterRefusal(addFinalizer),
			steps:  []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle(), controllertest.Delete("configmap/web"), controllertest.Settle()},
			oracle: controllertest.CleansUp, says: `settled after step 3: ConfigMap default/web is still being deleted, with the finalizers ["example.com/vault"]`},
		{name: "a Start that does not return and wakes up again and again", fault: controllertest.ServerError, start: thenBad(tickForEver),
			oracle: controllertest.Stops, says: "does not return within five minutes"},
		{name: "an invariant before a Start that does not return", fault: controllertest.ServerError, start: thenBad(stayForEver),
			always: ifBad(func() error { return errors.New("bad is there") }), oracle: controllertest.Invariant, says: "bad is there"},
		{name: "a crashed instance that does not return for long", fault: controllertest.CrashAfter,
			start:  untilItWorks(func(context.Context) { time.Sleep(7 * time.Minute) }),
			oracle: controllertest.Stops, says: "after its context had ended"},
		{name: "a Start that panics", fault: controllertest.ServerError, start: thenBad(func() { panic("nil map") }),
			oracle: controllertest.Runs, says: "panic: nil map"},
		{name: "a Start that returns again and again", fault: controllertest.CrashAfter, start: onlyIfNew,
			oracle: controllertest.Runs, says: "times in 40m0s after the end"},
		{name: "an invariant that panics", fault: controllertest.ServerError, start: thenBad(func() {}),
			always: ifBad(func() error { panic("two secrets") }), oracle: controllertest.Invariant, says: "panic: two secrets"},
		{name: "an invariant that fails with require", fault: controllertest.ServerError, start: thenBad(func() {}),
			always: ifBad(func() error { runtime.Goexit(); return nil }), oracle: controllertest.Invariant, says: "runtime.Goexit"},
		{name: "a step that waits in vain", fault: controllertest.ServerError, start: secretOnce,
			steps:  []controllertest.Step{controllertest.Do("wait", until("once", nil))},
			oracle: controllertest.Runs, says: "not done within 1h0m0s"},
		{name: "a step that fails", fault: controllertest.ServerError, start: secretOnce,
			steps:  []controllertest.Step{controllertest.Settle(), controllertest.Delete("secret/once")},
			oracle: controllertest.Runs, says: `step 2, delete secret/once: secrets "once" not found`},
		{name: "somebody of the World who fails", fault: controllertest.ServerError, start: thenBad(func() {}),
			world:  []controllertest.Start{until("bad", errors.New("bad came"))},
			oracle: controllertest.Runs, says: "somebody of the World has ended: bad came"},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := explore(t, controllertest.Scenario{Start: test.start, Always: test.always, World: test.world, Steps: test.steps,
				Faults: []controllertest.Fault{test.fault}})
			finding := only(t, report)
			require.Contains(t, finding.Broken, test.oracle)
			require.Contains(t, strings.Join(finding.Problems, "\n"), string(test.oracle)+": ")
			require.Contains(t, strings.Join(finding.Problems, "\n"), test.says)
		})
	}
}

// What the program wrote wrongly is gone at the end, so that no difference of the end states is about it.
func TestStory_TellsOfTheWriteThatBrokeTheInvariant(t *testing.T) {
	report := explore(t, controllertest.Scenario{
		Start: afterRefusal(func(ctx context.Context, cfg *rest.Config) error {
			secrets := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("default")
			_, _ = secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bad"}}, metav1.CreateOptions{})
			return secrets.Delete(ctx, "bad", metav1.DeleteOptions{})
		}),
		Steps:  []controllertest.Step{controllertest.Settle()},
		Always: ifBad(func() error { return errors.New("that is bad") }),
		Faults: []controllertest.Fault{controllertest.ServerError},
	})
	require.Contains(t, only(t, report).Story, "program create secrets default/bad #1: version")
}

func TestStory_TellsOfTheObjectThatWasWrittenTooOften(t *testing.T) {
	report := explore(t, controllertest.Scenario{
		Start: afterRefusal(func(ctx context.Context, cfg *rest.Config) error {
			_ = mark(time.Second, "same", 40)(ctx, cfg)
			return kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default").Delete(ctx, "web", metav1.DeleteOptions{})
		}),
		Steps:  []controllertest.Step{controllertest.Settle()},
		Faults: []controllertest.Fault{controllertest.ServerError},
	})
	require.Contains(t, only(t, report).Story, "program patch configmaps default/web")
}

// The old replica watches for a while after it has lost its Lease.
func TestStory_AfterAHandOverItTellsTheReplicasApart(t *testing.T) {
	report := explore(t, controllertest.Scenario{
		Start: func(ctx context.Context, cfg *rest.Config) error {
			watches, stop := context.WithCancel(context.WithoutCancel(ctx))
			context.AfterFunc(ctx, func() { time.AfterFunc(10*time.Second, stop) })
			secrets := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("default")
			events, err := secrets.Watch(watches, metav1.ListOptions{TimeoutSeconds: new(int64(24 * 60 * 60))})
			if err != nil {
				return err
			}
			_, _ = secrets.Create(watches, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-"}}, metav1.CreateOptions{})
			for range events.ResultChan() {
			}
			return nil
		},
		Faults: []controllertest.Fault{controllertest.HandOver},
	})
	told := strings.Split(only(t, report).Story, "\n")
	require.ElementsMatch(t, strings.Split(`            0s  the program starts
           1ms  *** hand-over: program create secrets default/made-* #1
           1ms  another replica starts
           2ms  program create secrets default/made-* #2: version 7
           2ms      the program sees ADDED secrets default/made-*, version 7
           2ms      the old replica sees ADDED secrets default/made-*, version 7
       10.001s  the old replica has ended
       20.001s  program create secrets default/made-* #1 of the old replica: version 8
       20.001s      the program sees ADDED secrets default/made-*, version 8`, "\n"), told) // within a moment in any order
}

// heartbeat writes into a ConfigMap again and again.
func heartbeat(period time.Duration) controllertest.Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		client := kubernetes.NewForConfigOrDie(cfg).CoreV1()
		for n := 0; ctx.Err() == nil; n++ {
			if web, err := client.ConfigMaps("default").Get(ctx, "web", metav1.GetOptions{}); err == nil {
				web.Data = map[string]string{"beat": fmt.Sprint(n)}
				_, _ = client.ConfigMaps("default").Update(ctx, web, metav1.UpdateOptions{})
			}
			sleep(period)(ctx)
		}
		return nil
	}
}

func TestOracles_AProgramThatWritesOnATimer(t *testing.T) {
	const why = "it writes on a timer"
	for _, test := range []struct {
		period  time.Duration
		without map[controllertest.Oracle]string
	}{
		{45 * time.Minute, nil},
		{10 * time.Minute, map[controllertest.Oracle]string{controllertest.StaysQuiet: why}},
		{10 * time.Second, map[controllertest.Oracle]string{controllertest.StaysQuiet: why, controllertest.Settles: why}},
	} {
		t.Run(test.period.String(), func(t *testing.T) {
			last := ""
			report := explore(t, controllertest.Scenario{
				Start: heartbeat(test.period), Without: test.without, Sample: 1, Limit: 100,
				Always: func(v controllertest.View) error {
					if web := v.Get("ConfigMap", "default", "web"); web != nil {
						last = fmt.Sprint(web.Object["data"])
					}
					return nil
				},
				Ignore: map[string]string{"ConfigMap": why},
				Faults: []controllertest.Fault{controllertest.ServerError},
				Steps:  []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle()},
			})
			require.Empty(t, report.Findings)
			if test.period < time.Minute {
				require.Greater(t, len(last), len("map[beat:99]"), "it is not stopped after 100 writes: %s", last)
			}
		})
	}
}

// What a program asks without changing anything, and a step that watches for a while, are no findings.
func TestExplore_LetsDryRunsAndShortWatchesPass(t *testing.T) {
	dryRuns := func(ctx context.Context, cfg *rest.Config) error {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "once"}} // a write, for a fault to hit
		_, _ = kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{})
		maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
		for range 40 {
			_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil {
				return err
			}
		}
		<-ctx.Done()
		return nil
	}
	watch := func(ctx context.Context, cfg *rest.Config) error {
		events, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{TimeoutSeconds: new(int64(5))})
		if err != nil {
			return err
		}
		for range events.ResultChan() {
		}
		return nil
	}
	report := controllertest.Explore(t, controllertest.Scenario{
		Start:  dryRuns,
		Steps:  []controllertest.Step{controllertest.Do("watch for five seconds", watch), controllertest.Settle()},
		Faults: []controllertest.Fault{controllertest.CrashAfter},
	})
	require.Empty(t, report.Findings)
}
