package controllertest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	"glasswatch/controller/controllertest"
)

// noLookout makes plays shorter.
var noLookout = map[controllertest.Oracle]string{controllertest.StaysQuiet: "renewals go on"}

// skews are the ages of Leases by their times, in whole minutes, as they were seen.
type skews struct {
	mu   sync.Mutex
	seen map[string]map[int]bool
}

func (s *skews) see(how string, renewed *metav1.MicroTime) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[how] == nil {
		s.seen[how] = map[int]bool{}
	}
	s.seen[how][int(math.Floor(time.Since(renewed.Time).Minutes()))] = true
}

func now() *metav1.MicroTime { return ptr.To(metav1.NowMicro()) }

// ways are all in which a program can renew a Lease.
func ways(cfg *rest.Config) map[string]func(ctx context.Context, lease *coordinationv1.Lease) error {
	inProtobuf := rest.CopyConfig(cfg)
	inProtobuf.ContentType = runtime.ContentTypeProtobuf
	update := func(cfg *rest.Config) func(ctx context.Context, lease *coordinationv1.Lease) error {
		leases := kubernetes.NewForConfigOrDie(cfg).CoordinationV1().Leases("default")
		return func(ctx context.Context, lease *coordinationv1.Lease) error {
			lease.Spec.RenewTime = now()
			_, err := leases.Update(ctx, lease, metav1.UpdateOptions{})
			return err
		}
	}
	leases := kubernetes.NewForConfigOrDie(cfg).CoordinationV1().Leases("default")
	patch := func(how types.PatchType, text string) func(ctx context.Context, lease *coordinationv1.Lease) error {
		return func(ctx context.Context, lease *coordinationv1.Lease) error {
			body := fmt.Sprintf(text, now().UTC().Format(metav1.RFC3339Micro))
			options := metav1.PatchOptions{FieldManager: "test"}
			if how == types.ApplyYAMLPatchType {
				options.Force = ptr.To(true)
			}
			_, err := leases.Patch(ctx, lease.Name, how, []byte(body), options)
			return err
		}
	}
	return map[string]func(ctx context.Context, lease *coordinationv1.Lease) error{
		"update":   update(cfg),
		"protobuf": update(inProtobuf),
		"merge":    patch(types.MergePatchType, `{"spec":{"renewTime":%q}}`),
		"json":     patch(types.JSONPatchType, `[{"op":"replace","path":"/spec/renewTime","value":%q}]`),
		"apply": patch(types.ApplyYAMLPatchType, "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: apply, namespace: default}\n"+
			"spec: {renewTime: %q}\n"),
	}
}

// renew renews a Lease in each way, every minute.
func renew(ctx context.Context, cfg *rest.Config, look func()) error {
	leases := kubernetes.NewForConfigOrDie(cfg).CoordinationV1().Leases("default")
	all := ways(cfg)
	for ctx.Err() == nil {
		look()
		for name, way := range all {
			lease, err := leases.Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				lease, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name},
					Spec: coordinationv1.LeaseSpec{AcquireTime: now(), RenewTime: now()}}, metav1.CreateOptions{})
			}
			if err == nil {
				err = way(ctx, lease)
			}
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		time.Sleep(time.Minute)
	}
	return nil
}

// The World renews the Lease "theirs", and looks at those of the program.
// Programs and World sleep in the play's virtual time.
func TestClock_TheProgramsIsAheadOrBehindInEachWayToTellTheTime(t *testing.T) {
	for fault, minutes := range map[controllertest.Fault]int{controllertest.ClockAhead: 6, controllertest.ClockBehind: -6} {
		s := &skews{seen: map[string]map[int]bool{}}
		report := explore(t, controllertest.Scenario{
			Start: func(ctx context.Context, cfg *rest.Config) error {
				time.Sleep(20 * time.Second) // not at the moments of the World
				cfg.ContentType = runtime.ContentTypeProtobuf
				factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(cfg), 0)
				lister := factory.Coordination().V1().Leases().Lister().Leases("default")
				factory.Start(ctx.Done())
				defer factory.Shutdown()
				factory.WaitForCacheSync(ctx.Done())
				create(ctx, cfg, "once")
				client := kubernetes.NewForConfigOrDie(cfg).CoordinationV1().Leases("default")
				return renew(ctx, cfg, func() {
					if lease, err := lister.Get("theirs"); err == nil {
						s.see("watch", lease.Spec.RenewTime)
					}
					if lease, err := client.Get(ctx, "theirs", metav1.GetOptions{}); err == nil {
						s.see("get", lease.Spec.RenewTime)
					}
					list, err := client.List(ctx, metav1.ListOptions{})
					for _, lease := range list.Items {
						if err == nil && lease.Name == "theirs" {
							s.see("list", lease.Spec.RenewTime)
						}
					}
				})
			},
			World: []controllertest.Start{func(ctx context.Context, cfg *rest.Config) error {
				leases := kubernetes.NewForConfigOrDie(cfg).CoordinationV1().Leases("default")
				theirs, err := leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}, metav1.CreateOptions{})
				for err == nil && ctx.Err() == nil {
					theirs.Spec.RenewTime = now()
					theirs, err = leases.Update(ctx, theirs, metav1.UpdateOptions{})
					for name := range ways(&rest.Config{}) {
						if lease, err := leases.Get(ctx, name, metav1.GetOptions{}); err == nil {
							s.see(name, lease.Spec.RenewTime)
						}
					}
					time.Sleep(time.Minute)
				}
				return err
			}},
			Faults:  []controllertest.Fault{fault},
			Without: noLookout,
		})
		require.Equal(t, 1, report.Fired)
		require.Empty(t, report.Findings)
		for _, how := range []string{"get", "list", "watch"} {
			require.Equal(t, map[int]bool{0: true, minutes: true}, s.seen[how], "%s: %s", fault, how)
		}
		for how := range ways(&rest.Config{}) {
			require.Equal(t, map[int]bool{0: true, -minutes: true}, s.seen[how], "%s: %s", fault, how)
		}
	}
}

// elect calls lead while the replica of that name has the Lease.
type elect func(ctx context.Context, client kubernetes.Interface, name string, lead func(ctx context.Context))

// electByTime believes the clocks of others: a Lease whose time is long ago is free.
func electByTime(ctx context.Context, client kubernetes.Interface, name string, lead func(ctx context.Context)) {
	leases := client.CoordinationV1().Leases("default")
	leading, stop := context.WithCancel(ctx)
	stop()
	var done sync.WaitGroup
	defer done.Wait()
	for ctx.Err() == nil {
		lease, err := leases.Get(ctx, "leader", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			lease, err = leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "leader"}}, metav1.CreateOptions{})
		}
		isMine := err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") == name
		if err == nil && (isMine || lease.Spec.RenewTime == nil || time.Since(lease.Spec.RenewTime.Time) > 15*time.Second) {
			lease.Spec.HolderIdentity, lease.Spec.RenewTime = &name, now()
			_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
			isMine = err == nil
		}
		switch {
		case isMine && leading.Err() != nil:
			leading, stop = context.WithCancel(ctx)
			done.Go(func() { lead(leading) })
		case !isMine:
			stop()
		}
		time.Sleep(time.Minute)
	}
	stop()
}

// electByWaiting is client-go's: it waits until it has not seen a renewal for so long, by its own clock.
func electByWaiting(ctx context.Context, client kubernetes.Interface, name string, lead func(ctx context.Context)) {
	lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "leader"}, Client: client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: name}}
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{Lock: lock, Name: name,
		LeaseDuration: 3 * time.Minute, RenewDeadline: 2 * time.Minute, RetryPeriod: time.Minute,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: lead, OnStoppedLeading: func() {}}})
}

// replica has a ConfigMap while it leads.
func replica(name string, after time.Duration, elect elect) controllertest.Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		time.Sleep(after)
		client := kubernetes.NewForConfigOrDie(cfg)
		maps := client.CoreV1().ConfigMaps("default")
		elect(ctx, client, name, func(ctx context.Context) {
			_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name + "-leads"}}, metav1.CreateOptions{})
			<-ctx.Done()
			if err == nil {
				_ = maps.Delete(context.WithoutCancel(ctx), name+"-leads", metav1.DeleteOptions{})
			}
		})
		return nil
	}
}

func oneLeads(v controllertest.View) error {
	n := 0
	for _, obj := range v.Kind("ConfigMap") {
		if strings.HasSuffix(obj.GetName(), "-leads") {
			n++
		}
	}
	if n > 1 {
		return errors.New("two replicas lead")
	}
	return nil
}

func TestClock_AnElectionByOthersClocksHasTwoLeaders(t *testing.T) {
	scenario := func(elect elect) controllertest.Scenario {
		return controllertest.Scenario{
			Start:   replica("program", time.Second, elect),
			World:   []controllertest.Start{replica("other", 0, elect)},
			Steps:   []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle()},
			Always:  oneLeads,
			Without: noLookout,
		}
	}
	finds(t, scenario(electByTime), controllertest.Invariant, controllertest.ClockAhead, "others patch configmaps default/web #1")

	s := scenario(electByWaiting)
	s.Faults = []controllertest.Fault{controllertest.ClockAhead, controllertest.ClockBehind}
	report := explore(t, s)
	require.Empty(t, report.Findings)
	require.Equal(t, report.Planned, report.Fired)
}
