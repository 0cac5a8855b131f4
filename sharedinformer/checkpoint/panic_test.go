package checkpoint

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"glasswatch/listwatch"
	"glasswatch/observe"
)

// survivePanics lets the program live when a hook panics, until the test ends.
func survivePanics(t *testing.T) {
	crash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	t.Cleanup(func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers })
	utilruntime.ReallyCrash, utilruntime.PanicHandlers = false, nil
}

// hook is a BeforeStore and an Observe, and panics once when it is told of an object.
type hook struct {
	panicsAt string // the object's name
	step     observe.Step
}

func (h *hook) panicOnce(step observe.Step, name string) {
	if h.panicsAt == name && h.step == step {
		h.panicsAt = ""
		panic("told of " + name)
	}
}

// beforeStore is the step of a hook that is not an observer.
const beforeStore = observe.Step("")

func (h *hook) options() (opts informerOptions) {
	opts.BeforeStore = func(k listwatch.Key, _ listwatch.Object) { h.panicOnce(beforeStore, k.Name) }
	opts.Observe = func(seen []observe.Observation[listwatch.Key]) {
		for _, o := range seen {
			h.panicOnce(o.Step, o.Key.Name)
		}
	}
	return opts
}

// run is one run of a program with the hook and a checkpoint; during is called once the informer has come to rest.
func (h *hook) run(t *testing.T, server *server, path string, during func(i *Informer[*config])) {
	opts := h.options()
	opts.Reflector.DisableStreamingList = true
	informer, err := New(server, opts, Options{Path: path, Cluster: "c", Source: "s"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	done := make(chan error, 1)
	go func() { done <- informer.Run(ctx) }()
	defer func() {
		cancel()
		require.NoError(t, <-done)
	}()
	rest := func() { <-time.After(10 * time.Second); synctest.Wait() }
	rest()
	during(informer)
	rest()
}

func storeOf(i *Informer[*config]) map[string]string {
	store := map[string]string{}
	for k, obj := range i.Store().Snapshot().All() {
		store[k.Name] = obj.ResourceVersion
	}
	return store
}

// Neither the run in which a hook panics nor a later one goes on without what that kept out of the store.
func TestCheckpoint_APanicOfAHookIsNotKeptInTheFile(t *testing.T) {
	survivePanics(t)
	for name, step := range map[string]observe.Step{"BeforeStore": beforeStore, "Observe": observe.Popped} {
		t.Run(name, func(t *testing.T) {
			t.Run("on what the file has", func(t *testing.T) { panicOnRestored(t, step) })
			t.Run("on an event", func(t *testing.T) { panicOnEvent(t, step) })
		})
	}
}

func panicOnRestored(t *testing.T, step observe.Step) {
	path := filepath.Join(t.TempDir(), "configmaps")
	synctest.Test(t, func(t *testing.T) {
		s, h := newServer(), &hook{step: step}
		s.Put("x", "1")
		s.Put("y", "1")
		h.run(t, s, path, func(*Informer[*config]) {})
		h.panicsAt = "x"
		h.run(t, s, path, func(i *Informer[*config]) {
			require.Empty(t, h.panicsAt, "it has panicked")
			require.True(t, i.HasSynced())
			require.Empty(t, i.Checkpoint().Resumed)
			require.Equal(t, s.versions(), storeOf(i), "it was listed")
			s.Put("z", "1")
		})
		h.run(t, s, path, func(i *Informer[*config]) {
			require.Equal(t, "2", i.Checkpoint().Resumed, "the file of before is good")
			require.Equal(t, s.versions(), storeOf(i))
		})
	})
}

func panicOnEvent(t *testing.T, step observe.Step) {
	path := filepath.Join(t.TempDir(), "configmaps")
	synctest.Test(t, func(t *testing.T) {
		s, h := newServer(), &hook{step: step}
		s.Put("x", "1")
		h.run(t, s, path, func(*Informer[*config]) {})
		h.panicsAt = "y"
		h.run(t, s, path, func(i *Informer[*config]) {
			s.Put("y", "1")
			<-time.After(10 * time.Second)
			s.Put("z", "1")
			synctest.Wait()
			require.Empty(t, h.panicsAt, "it has panicked")
			require.Equal(t, map[string]string{"x": "1", "z": "3"}, storeOf(i), "as any informer")
		})
		h.run(t, s, path, func(i *Informer[*config]) {
			require.Equal(t, "1", i.Checkpoint().Resumed)
			require.Equal(t, s.versions(), storeOf(i))
		})
	})
}
