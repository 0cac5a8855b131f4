package cache

//lint:file-ignore SA1019 Programs whose functions take no context are served, too.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// streams is a village that can stream lists.
func streams(s *village) *ListWatch {
	return &ListWatch{ListFunc: s.List, WatchFunc: func(opts metav1.ListOptions) (watch.Interface, error) {
		if opts.SendInitialEvents == nil {
			return s.Watch(opts)
		}
		listed, err := s.List(opts)
		if err != nil {
			return nil, err
		}
		list, w := listed.(*corev1.ConfigMapList), watch.NewRaceFreeFake()
		for _, item := range list.Items {
			w.Add(&item)
		}
		w.Action(watch.Bookmark, initialEventsEnd(list.ResourceVersion))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watchers = append(s.watchers, w)
		return w, nil
	}}
}

// fussy is a transform that fails on objects of one name, or panics.
type fussy struct {
	name   string
	panics bool
}

func (f *fussy) transform(obj any) (any, error) {
	switch {
	case obj.(*corev1.ConfigMap).Name != f.name:
		return obj, nil
	case f.panics:
		panic("fussy")
	}
	return nil, errors.New("fussy")
}

// simplest are the constructors of simple informers with a transform.
var simplest = map[string]func(lw ListerWatcher, h ResourceEventHandler, transform TransformFunc) (Store, Controller){
	"NewInformerWithOptions": func(lw ListerWatcher, h ResourceEventHandler, transform TransformFunc) (Store, Controller) {
		return NewInformerWithOptions(InformerOptions{ListerWatcher: lw, ObjectType: &corev1.ConfigMap{}, Handler: h, Transform: transform})
	},
	"NewTransformingInformer": func(lw ListerWatcher, h ResourceEventHandler, transform TransformFunc) (Store, Controller) {
		return NewTransformingInformer(lw, &corev1.ConfigMap{}, 0, h, transform)
	},
	"NewTransformingIndexerInformer": func(lw ListerWatcher, h ResourceEventHandler, transform TransformFunc) (Store, Controller) {
		return NewTransformingIndexerInformer(lw, &corev1.ConfigMap{}, 0, h, Indexers{}, transform)
	},
}

func TestInformer_AFailingTransformCostsThatObjectOnly(t *testing.T) {
	defer func(crash bool, panics []func(context.Context, any), errs []utilruntime.ErrorHandler) {
		utilruntime.ReallyCrash, utilruntime.PanicHandlers, utilruntime.ErrorHandlers = crash, panics, errs
	}(utilruntime.ReallyCrash, utilruntime.PanicHandlers, utilruntime.ErrorHandlers)
	utilruntime.ReallyCrash = true // which does not matter: the panic is an error
	for name, open := range simplest {
		for how, f := range map[string]*fussy{"error": {}, "panic": {panics: true}} {
			for kind, serve := range map[string]func(*village) ListerWatcher{
				"paged":     func(s *village) ListerWatcher { return s },
				"streaming": func(s *village) ListerWatcher { return streams(s) },
			} {
				t.Run(name+"/"+how+"/"+kind, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newVillage()
						var d, panics, errs diary
						utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, p any) { panics.write("%v", p) }}
						utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, err error, _ string, _ ...any) { errs.write("%v", err) }}
						told := func() {
							t.Helper()
							if f.panics {
								panics.Expect(t, "fussy")
								errs.Expect(t, "the transform panicked: fussy")
							} else {
								panics.Expect(t)
								errs.Expect(t, "fussy")
							}
						}
						s.Put("a")
						s.Put("b")
						f.name = "a"
						store, controller := open(serve(s), &d, f.transform)
						defer running(controller.RunWithContext)()
						told()
						d.Expect(t, "initial b@2")
						require.True(t, controller.HasSynced())
						f.name = ""
						s.Put("a")
						d.Expect(t, "add a@3")
						f.name = "a"
						s.Unobserved(func() {
							s.Put("a")
							s.Delete("b")
							s.Put("c")
						})
						pass(time.Minute)
						told()
						d.Expect(t, "delete tombstone default/b of b@2", "add c@6")
						a, _, _ := store.GetByKey("default/a")
						require.Equal(t, "a@3", brief(a), "the last good version stays")
						require.Equal(t, "6", store.LastStoreSyncResourceVersion())
						f.name = ""
						s.Put("a")
						d.Expect(t, "update a@3→7")
					})
				})
			}
		}
	}
}

// client-go never syncs, and tells the watch-error handler at each try.
func TestInformer_AFailingTransformCostsClientGosInformerTheList(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		s.Put("a")
		s.Put("b")
		f := &fussy{name: "a"}
		_, controller := m.simple(InformerOptions{ListerWatcher: s, ObjectType: &corev1.ConfigMap{}, Handler: &diary{}, Transform: f.transform})
		defer running(controller.RunWithContext)()
		pass(time.Minute)
		require.Equal(t, m.name == ourMachinery.name, controller.HasSynced())
	})
}

// refusing is a store that refuses its first lists.
type refusing struct {
	ledger
	times int
}

func (r *refusing) Replace(objs []any, version string) error {
	_ = r.ledger.Replace(objs, version)
	if r.times--; r.times >= 0 {
		return errors.New("no room")
	}
	return nil
}

func TestReflector_AListThatTheStoreRefusesIsFollowedByAnother(t *testing.T) {
	table := stories{}
	for kind, serve := range map[string]func(*village) *ListWatch{
		"paged":     func(s *village) *ListWatch { return &ListWatch{ListFunc: s.List, WatchFunc: s.Watch} },
		"streaming": streams,
	} {
		mark := func(lw *ListWatch) ListerWatcher {
			if kind == "paged" {
				return paged(lw)
			}
			return lw
		}
		for times := range 5 {
			table[fmt.Sprint(kind, "/", times)] = func(t *testing.T, c *transcript) {
				c.server.Put("a")
				store := &refusing{times: times}
				r := c.reflector(mark(c.noted(serve(c.server))), &corev1.ConfigMap{}, store, ReflectorOptions{})
				stop := running(r.RunWithContext)
				c.write("version %q", r.LastSyncResourceVersion())
				pass(4 * time.Minute)
				c.server.Put("b")
				c.server.Unobserved(func() {
					c.server.Put("c")
					store.times = times
				})
				pass(time.Millisecond)
				c.write("version %q", r.LastSyncResourceVersion())
				pass(4 * time.Minute)
				stop()
				c.write("version %q, store %v", r.LastSyncResourceVersion(), store.entries)
			}
			table[fmt.Sprint(kind, "/once/", times)] = func(t *testing.T, c *transcript) {
				store := &refusing{times: times}
				r := c.reflector(mark(c.noted(serve(c.server))), &corev1.ConfigMap{}, store, ReflectorOptions{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				c.write("%v, version %q", r.ListAndWatchWithContext(ctx), r.LastSyncResourceVersion())
			}
		}
	}
	table.compare(t)
}

func TestController_AListThatItsQueueRefusesIsToldAndFollowedByAnother(t *testing.T) {
	stories{"atomic": func(t *testing.T, c *transcript) {
		c.server.Put("a")
		c.server.Put("b")
		f := &fussy{name: "a"}
		queue := c.storage.realFIFO(RealFIFOOptions{KeyFunction: MetaNamespaceKeyFunc, AtomicEvents: true, Transformer: f.transform})
		controller := c.controller(&Config{
			Queue: queue.(Queue), ListerWatcher: paged(c.noted(&ListWatch{ListFunc: c.server.List, WatchFunc: c.server.Watch})),
			ObjectType: &corev1.ConfigMap{},
			Process: func(obj any, initial bool) error {
				for _, delta := range obj.(Deltas) {
					c.events.write("%s %v", delta.Type, initial) // in a goroutine of its own
				}
				return nil
			},
			WatchErrorHandlerWithContext: func(_ context.Context, _ *Reflector, err error) {
				c.write("error: %v, synced %v", err, queue.HasSynced())
				f.name = ""
			},
		})
		defer running(controller.RunWithContext)()
		pass(time.Minute)
		c.write("synced %v, version %q", controller.HasSynced(), controller.LastSyncResourceVersion())
		c.server.Put("a")
		pass(0)
	}}.compare(t)
}
