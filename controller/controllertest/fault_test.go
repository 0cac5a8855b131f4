package controllertest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"glasswatch/controller/controllertest"
)

// life is what a program did in all its plays.
type life struct {
	mu            sync.Mutex
	starts, tries int
}

func (l *life) count(n *int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*n++
}

// createUntilItWorks creates one Secret at each start, under a name that the server makes.
func (l *life) createUntilItWorks(ctx context.Context, cfg *rest.Config) error {
	l.count(&l.starts)
	secrets := kubernetes.NewForConfigOrDie(cfg).CoreV1().Secrets("default")
	for ctx.Err() == nil {
		l.count(&l.tries)
		_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-"}}, metav1.CreateOptions{})
		if err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	<-ctx.Done()
	return nil
}

func TestFaults_AtAWriteOfTheProgram(t *testing.T) {
	for _, test := range []struct {
		fault                  controllertest.Fault
		starts, tries, secrets int
	}{
		{controllertest.CrashBefore, 2, 2, 1},
		{controllertest.CrashAfter, 2, 2, 2},
		{controllertest.LoseAnswer, 1, 2, 2},
		{controllertest.TooMany, 1, 1, 1}, // client-go tries again by itself
		{controllertest.ServerError, 1, 2, 1},
		{controllertest.Unavailable, 1, 2, 1},
		{controllertest.ServerTimeout, 1, 2, 1},
		{controllertest.HandOver, 2, 2, 2},
	} {
		t.Run(string(test.fault), func(t *testing.T) {
			l, secrets := &life{}, 0
			report := explore(t, controllertest.Scenario{
				Start: l.createUntilItWorks,
				Steps: []controllertest.Step{controllertest.Settle()},
				Always: func(v controllertest.View) error {
					secrets = len(v.Kind("Secret"))
					return nil
				},
				Faults: []controllertest.Fault{test.fault},
			})
			require.Equal(t, 1, report.Fired)
			require.Equal(t, test.secrets, secrets, "Secrets")
			require.Equal(t, test.starts, l.starts-2, "starts, without those of the two plays before")
			require.Equal(t, test.tries, l.tries-2, "tries, without those of the two plays before")
			require.Equal(t, test.secrets > 1, len(report.Findings) > 0, "a second Secret is a finding")
		})
	}
}

func TestFaults_AtWhatTheProgramSees(t *testing.T) {
	const atOnce = 2 * time.Second
	for _, test := range []struct {
		fault       controllertest.Fault
		early, late time.Duration // between these the last instance of the program learns of a ConfigMap
	}{
		{controllertest.HoldSeconds, 5 * time.Second, 5*time.Second + atOnce},
		{controllertest.HoldMinutes, 6 * time.Minute, 6*time.Minute + atOnce},
		{controllertest.HoldLong, 30 * time.Second, 2 * time.Minute},
		{controllertest.Miss, 45 * time.Second, 3 * time.Minute}, // and the back-off of a watch
		{controllertest.StaleStart, 45 * time.Second, 3 * time.Minute},
		{controllertest.Outage, 10 * time.Minute, 12 * time.Minute},
	} {
		t.Run(string(test.fault), func(t *testing.T) {
			var made, seen time.Time
			report := explore(t, controllertest.Scenario{
				Start: func(ctx context.Context, cfg *rest.Config) error {
					factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(cfg), 0)
					_, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
						AddFunc: func(obj any) {
							if obj.(*corev1.ConfigMap).Name == "web" {
								seen = time.Now()
							}
						}})
					factory.Start(ctx.Done())
					<-ctx.Done()
					factory.Shutdown()
					return err
				},
				Steps: []controllertest.Step{
					controllertest.Do("note the time", func(context.Context, *rest.Config) error { made = time.Now(); return nil }),
					controllertest.ApplyText(vault), controllertest.Settle(),
				},
				Faults: []controllertest.Fault{test.fault},
			})
			require.Equal(t, 1, report.Fired)
			require.Empty(t, report.Findings)
			after := seen.Sub(made)
			require.True(t, test.early <= after && after <= test.late, "learned of it after %v", after)
		})
	}
}

// What an instance sends after it died, or after another one took over, does not reach the server. Its first write meets the fault, and the
// second one is half a millisecond behind.
func TestFaults_AWriteOfADeadInstanceIsNotStored(t *testing.T) {
	for _, fault := range []controllertest.Fault{controllertest.CrashBefore, controllertest.CrashAfter, controllertest.HandOver, controllertest.Outage} {
		t.Run(string(fault), func(t *testing.T) {
			l, stored := &life{}, false
			report := explore(t, controllertest.Scenario{
				Start: func(ctx context.Context, cfg *rest.Config) error {
					l.count(&l.starts)
					if l.starts > 3 { // 1 and 2 are those without faults
						return waitFor(ctx)
					}
					stored = false
					factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(cfg), 0)
					factory.Core().V1().Secrets().Informer()
					factory.Start(ctx.Done())
					factory.WaitForCacheSync(ctx.Done())
					var both sync.WaitGroup
					both.Go(func() { create(context.Background(), cfg, "first") })
					time.Sleep(500 * time.Microsecond)
					both.Go(func() { create(context.Background(), cfg, "second") })
					both.Wait()
					err := waitFor(ctx)
					factory.Shutdown()
					return err
				},
				Always: func(v controllertest.View) error {
					stored = v.Get("Secret", "default", "second") != nil
					return nil
				},
				Faults: []controllertest.Fault{fault},
				Sample: 1, // at the first write
			})
			require.Equal(t, 1, report.Fired)
			require.Contains(t, only(t, report).Faults, "default/first")
			require.False(t, stored)
		})
	}
}

// endsAfterwards returns a program that creates a Secret, under the fault, and then ends at once when it is started again, so many times.
func (l *life) endsAfterwards(times int) controllertest.Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		l.count(&l.starts)
		again := l.starts - 3 // the first three are those of the plays without faults, and the one that the fault ends
		if again > 0 && again <= times {
			return errors.New("not yet")
		}
		name := "once"
		if again > 0 {
			name = "again"
		}
		create(ctx, cfg, name)
		return waitFor(ctx)
	}
}

func TestRestart_AProgramThatAlwaysEndsIsStartedEachFiveMinutes(t *testing.T) {
	l := &life{}
	report := explore(t, controllertest.Scenario{Start: l.endsAfterwards(1000), Faults: []controllertest.Fault{controllertest.CrashAfter}})
	require.Contains(t, strings.Join(only(t, report).Problems, "\n"), "runs: Start returned 8 times in 40m0s after the end")
	require.Less(t, l.starts, 3+25)
}

// The fifth restart is 151 seconds after the crash.
func TestRestart_SettleWaitsForIt(t *testing.T) {
	l := &life{}
	report := explore(t, controllertest.Scenario{Start: l.endsAfterwards(4), Faults: []controllertest.Fault{controllertest.CrashAfter}})
	finding := only(t, report)
	require.Contains(t, finding.Problems[0], "settled after start: Secret default/again")
}

func waitFor(ctx context.Context) error { <-ctx.Done(); return nil }

// A watch that missed something is not told what came and went meanwhile.
func TestFaults_WhatComesAndGoesDuringAMissIsNeverSeen(t *testing.T) {
	var seen []string
	report := explore(t, controllertest.Scenario{
		Start: func(ctx context.Context, cfg *rest.Config) error {
			seen = nil
			factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(cfg), 0)
			_, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc:    func(obj any) { seen = append(seen, "added "+obj.(*corev1.ConfigMap).Name) },
				DeleteFunc: func(any) { seen = append(seen, "deleted") },
			})
			factory.Start(ctx.Done())
			<-ctx.Done()
			factory.Shutdown()
			return err
		},
		Steps: []controllertest.Step{
			controllertest.ApplyText(vault), controllertest.Wait(time.Second), controllertest.Delete("configmap/web"),
			controllertest.Wait(time.Second), controllertest.ApplyText("{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}"), controllertest.Settle(),
		},
		Faults: []controllertest.Fault{controllertest.Miss},
		Sample: 1, // at the creation
	})
	require.Equal(t, 1, report.Fired)
	require.Equal(t, []string{"added other"}, seen)
}

// A list at any version is old after that restart, and one at the newest version is not.
func TestFaults_AStaleStartShowsOldLists(t *testing.T) {
	var old, newest int
	report := explore(t, controllertest.Scenario{
		Start: func(ctx context.Context, cfg *rest.Config) error {
			maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
			list, err := maps.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				return err
			}
			old = len(list.Items)
			list, err = maps.List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			newest = len(list.Items)
			for ctx.Err() == nil {
				watch, err := maps.Watch(ctx, metav1.ListOptions{})
				if err != nil {
					continue
				}
				for range watch.ResultChan() {
				}
			}
			return nil
		},
		Steps:  []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle()},
		Faults: []controllertest.Fault{controllertest.StaleStart},
	})
	require.Equal(t, 1, report.Fired)
	require.Equal(t, 0, old)
	require.Equal(t, 1, newest)
}
