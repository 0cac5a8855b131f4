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
		for _, m := range []machinery{theirMachinery, ourMachinery} {
			program := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=1m")
			program.Env = append(os.Environ(), variable+"="+m.name+"/"+what)
			out, err := program.CombinedOutput()
			require.Error(t, err, m.name)
			require.Contains(t, string(out), "panic: the "+what+" panicked", m.name)
			shown := strings.Contains(afterPanic(string(out)), "cache.panicking(")
			require.Equal(t, hasStack(what, m), shown, m.name)
			require.Contains(t, string(out), "Observed a panic", fmt.Sprintf("%s: the panic handlers are not called", m.name))
		}
	}
}

// afterPanic is what the runtime printed.
func afterPanic(out string) string { return out[strings.LastIndex(out, "\npanic: ")+1:] }
