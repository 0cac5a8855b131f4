package cache

//lint:file-ignore SA1019 Programs whose functions take no context are served, too.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// panicking is called by what is to panic, so that stacks show it.
func panicking(what string) { panic("the " + what + " panicked") }

// panickers are informers of which one of the caller's functions panics, once.
var panickers = map[string]func(m machinery, s *village, first func() bool) SharedIndexInformer{
	"list function": func(m machinery, s *village, first func() bool) SharedIndexInformer {
		return m.shared(paged(&ListWatch{
			ListFunc: func(opts metav1.ListOptions) (runtime.Object, error) {
				if first() {
					panicking("list function")
				}
				return s.List(opts)
			},
			WatchFunc: s.Watch,
		}), &corev1.ConfigMap{}, plain())
	},
	"watch function": func(m machinery, s *village, first func() bool) SharedIndexInformer {
		return m.shared(paged(&ListWatch{
			ListFunc: s.List,
			WatchFunc: func(opts metav1.ListOptions) (watch.Interface, error) {
				if first() {
					panicking("watch function")
				}
				return s.Watch(opts)
			},
		}), &corev1.ConfigMap{}, plain())
	},
	"watch-error handler": func(m machinery, s *village, _ func() bool) SharedIndexInformer {
		s.failLists = []error{errors.New("once")}
		informer := m.shared(s, &corev1.ConfigMap{}, plain())
		_ = informer.SetWatchErrorHandlerWithContext(func(context.Context, *Reflector, error) {
			panicking("watch-error handler")
		})
		return informer
	},
	"handler": func(m machinery, s *village, first func() bool) SharedIndexInformer {
		informer := m.shared(s, &corev1.ConfigMap{}, plain())
		logger := klog.LoggerWithName(klog.Background(), "the handler's own")
		_, _ = informer.AddEventHandlerWithOptions(ResourceEventHandlerFuncs{AddFunc: func(any) {
			panicking("handler")
		}}, HandlerOptions{Logger: &logger})
		return informer
	},
}

func panicker(what string, m machinery, s *village) SharedIndexInformer {
	s.Put("a")
	var calls atomic.Int32
	return panickers[what](m, s, func() bool { return calls.Add(1) == 1 })
}

// hasStack: client-go passes the panic of a list function on to another goroutine, whose stack does not show the
// function.
func hasStack(what string, m machinery) bool {
	return what != "list function" || m.name == ourMachinery.name
}

// A program that reports its panics somewhere has a handler for that, and one that must go on sets ReallyCrash.
func TestPanics_OfTheCallersFunctionsReachThePanicHandlersAndTheInformerGoesOn(t *testing.T) {
	defer func(crash bool, handlers []func(context.Context, any)) {
		utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers
	}(utilruntime.ReallyCrash, utilruntime.PanicHandlers)
	utilruntime.ReallyCrash = false
	for what := range panickers {
		t.Run(what, func(t *testing.T) {
			withBoth(t, func(t *testing.T, m machinery, s *village) {
				var told diary
				utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, p any) {
					told.write("%v, by it: %v", p, strings.Contains(string(debug.Stack()), "cache.panicking"))
				}}
				informer := panicker(what, m, s)
				defer running(informer.RunWithContext)()
				pass(10 * time.Second)
				told.Expect(t, fmt.Sprintf("the %s panicked, by it: %v", what, hasStack(what, m)))
				require.True(t, informer.HasSynced())
				require.Equal(t, []string{"default/a"}, informer.GetStore().ListKeys())
			})
		})
	}
}

// panickyStore panics at its first list.
type panickyStore struct {
	Store
	replaced int
}

func (s *panickyStore) Replace(list []any, resourceVersion string) error {
	if s.replaced++; s.replaced == 1 {
		panicking("store")
	}
	return s.Store.Replace(list, resourceVersion)
}

func TestPanics_OfAStoreReachThePanicHandlersAndTheReflectorListsAgain(t *testing.T) {
	defer func(crash bool, handlers []func(context.Context, any)) {
		utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers
	}(utilruntime.ReallyCrash, utilruntime.PanicHandlers)
	utilruntime.ReallyCrash = false
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		var told diary
		utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, p any) { told.write("%v", p) }}
		s.Put("a")
		store := &panickyStore{Store: NewStore(MetaNamespaceKeyFunc)}
		r := m.reflector(s, &corev1.ConfigMap{}, store, ReflectorOptions{})
		defer running(r.RunWithContext)()
		pass(10 * time.Second)
		told.Expect(t, "the store panicked")
		require.Equal(t, []string{"default/a"}, store.ListKeys())
		require.Equal(t, 2, store.replaced)
		s.Put("b")
		pass(0)
		require.Equal(t, []string{"default/a", "default/b"}, sorted(store.ListKeys()))
	})
}

// client-go's informer lists again, if the program goes on at all.
func TestPanics_OfATransformReachThePanicHandlersAndCostOneObject(t *testing.T) {
	defer func(crash bool, handlers []func(context.Context, any)) {
		utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers
	}(utilruntime.ReallyCrash, utilruntime.PanicHandlers)
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		var told diary
		utilruntime.ReallyCrash = m.name == ourMachinery.name // which does not care
		utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, p any) {
			told.write("%v, by it: %v", p, strings.Contains(string(debug.Stack()), "cache.panicking"))
		}}
		s.Put("a")
		s.Put("b")
		informer, calls := m.shared(s, &corev1.ConfigMap{}, plain()), 0
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			if calls++; calls == 1 {
				panicking("transform")
			}
			return obj, nil
		}))
		defer running(informer.RunWithContext)()
		pass(10 * time.Second)
		told.Expect(t, "the transform panicked, by it: true")
		require.True(t, informer.HasSynced())
		keys := map[string][]string{
			theirMachinery.name: {"default/a", "default/b"}, ourMachinery.name: {"default/b"},
		}[m.name]
		require.Equal(t, keys, sorted(informer.GetStore().ListKeys()))
		s.Put("a")
		pass(0)
		require.Equal(t, []string{"default/a", "default/b"}, sorted(informer.GetStore().ListKeys()))
	})
}

// The panic is in a goroutine of its own, so it ends the process.
func TestPanics_OfTheCallersFunctionsEndTheProgramWithTheirStack(t *testing.T) {
	const variable = "GLASSWATCH_TEST_PANIC"
	name, what, _ := strings.Cut(os.Getenv(variable), "/")
	if name != "" {
		for _, m := range []machinery{theirMachinery, ourMachinery} {
			if m.name == name {
				panicker(what, m, newVillage()).RunWithContext(t.Context())
			}
		}
		return
	}
	for what := range panickers {
		var reports []int
		for _, m := range []machinery{theirMachinery, ourMachinery} {
			program := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=1m")
			program.Env = append(os.Environ(), variable+"="+m.name+"/"+what)
			out, err := program.CombinedOutput()
			require.Error(t, err, m.name)
			require.Contains(t, string(out), "panic: the "+what+" panicked", m.name)
			shown := strings.Contains(afterPanic(string(out)), "cache.panicking(")
			require.Equal(t, hasStack(what, m), shown, m.name)
			reports = append(reports, strings.Count(string(out), "Observed a panic"))
			own := strings.Count(string(out), `"Observed a panic" logger="the handler's own"`)
			require.Equal(t, what == "handler", own == 1, "%s: %s", m.name, out)
		}
		require.NotZero(t, reports[0], "the panic handlers are not called")
		require.Equal(t, reports[0], reports[1], "%s: how often the panic handlers are called", what)
	}
}

// afterPanic is what the runtime printed.
func afterPanic(out string) string { return out[strings.LastIndex(out, "\npanic: ")+1:] }
