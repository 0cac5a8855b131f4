package cache

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"glasswatch/sharedinformer"
)

func TestHandlerOptions_PanicsGoToTheHandlersLogger(t *testing.T) {
	really := utilruntime.ReallyCrash
	defer func() { utilruntime.ReallyCrash = really }()
	utilruntime.ReallyCrash = false
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		s.Put("a")
		informer := m.shared(s, &corev1.ConfigMap{}, plain())
		lines, calls := &diary{}, &diary{}
		logger := klog.LoggerWithName(funcr.New(func(prefix, _ string) { lines.write("%s", prefix) }, funcr.Options{}), "ours")
		began := time.Now()
		at := func(name string) {
			calls.write("%s after %v", name, time.Since(began))
			panic("oh")
		}
		_, err := informer.AddEventHandlerWithOptions(ResourceEventHandlerFuncs{
			AddFunc:    func(any) { at("add") },
			UpdateFunc: func(any, any) { at("update") },
			DeleteFunc: func(any) { at("delete") },
		}, HandlerOptions{Logger: &logger})
		require.NoError(t, err)
		defer running(informer.RunWithContext)()
		s.Put("a")
		s.Delete("a")
		pass(time.Minute)
		calls.Expect(t, "add after 0s", "update after 1s", "delete after 2s")
		lines.Expect(t, "ours", "ours", "ours")
	})
}

func TestAddEventHandler_ToAStoppedInformerFailsInClientGosWords(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		informer := m.shared(s, &corev1.ConfigMap{}, plain())
		running(informer.RunWithContext)()
		require.True(t, informer.IsStopped())
		_, err := informer.AddEventHandler(&diary{})
		require.Error(t, err)
		require.Regexp(t, "^handler .* was not added to shared informer because it has stopped already$", err.Error())
		if m.name == ourMachinery.name {
			require.ErrorIs(t, err, sharedinformer.ErrStopped)
		}
	})
}

// What client-go says twice in a life, or once, is said as often here, with the type of the objects.
func TestLog_NamesTheTypeAndSaysNothingTwice(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		lines := &diary{}
		logger := funcr.New(func(_, args string) {
			for _, message := range []string{"Starting reflector", "Caches populated", "Stopping reflector"} {
				if strings.Contains(args, message) {
					lines.write("%s: %v", message, strings.Contains(args, `"type"="*v1.ConfigMap"`))
				}
			}
		}, funcr.Options{Verbosity: 4})
		logged := func(run func(context.Context)) func(context.Context) {
			return func(ctx context.Context) { run(klog.NewContext(ctx, logger)) }
		}
		s.Put("a")
		r := m.reflector(s, &corev1.ConfigMap{}, &ledger{}, ReflectorOptions{Name: "rory"})
		running(logged(r.RunWithContext))()
		lines.Expect(t, "Starting reflector: true", "Caches populated: true", "Stopping reflector: true")
		informer := m.shared(s, &corev1.ConfigMap{}, plain())
		running(logged(informer.RunWithContext))()
		lines.Expect(t, "Starting reflector: true", "Caches populated: true", "Stopping reflector: true")
	})
}
