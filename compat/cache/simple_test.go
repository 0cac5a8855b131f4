package cache

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// simpleInformer shows what NewInformerWithOptions returns as a shared informer, as far as stories need one.
type simpleInformer struct {
	SharedIndexInformer
	Controller
	store    Store
	handlers []ResourceEventHandler // set before it runs
	stopped  bool
}

// asSimple makes stories of shared informers ones of simple informers.
func (m machinery) asSimple() machinery {
	m.shared = func(lw ListerWatcher, example runtime.Object, options SharedIndexInformerOptions) SharedIndexInformer {
		s := &simpleInformer{}
		s.store, s.Controller = m.simple(InformerOptions{
			ListerWatcher: lw, ObjectType: example, Handler: s, ResyncPeriod: options.ResyncPeriod, Indexers: options.Indexers,
		})
		return s
	}
	return m
}

func (s *simpleInformer) OnAdd(obj any, initial bool) {
	for _, h := range s.handlers {
		h.OnAdd(obj, initial)
	}
}

func (s *simpleInformer) OnUpdate(oldObj, obj any) {
	for _, h := range s.handlers {
		h.OnUpdate(oldObj, obj)
	}
}

func (s *simpleInformer) OnDelete(obj any) {
	for _, h := range s.handlers {
		h.OnDelete(obj)
	}
}

func (s *simpleInformer) AddEventHandler(h ResourceEventHandler) (ResourceEventHandlerRegistration, error) {
	s.handlers = append(s.handlers, h)
	return nil, nil
}

func (s *simpleInformer) RunWithContext(ctx context.Context) {
	s.Controller.RunWithContext(ctx)
	s.stopped = true
}

// SetWatchErrorHandlerWithContext does nothing: simple informers have none.
func (s *simpleInformer) SetWatchErrorHandlerWithContext(WatchErrorHandlerWithContext) error {
	return nil
}

func (s *simpleInformer) Run(stop <-chan struct{})      { s.Controller.Run(stop) }
func (s *simpleInformer) HasSynced() bool               { return s.Controller.HasSynced() }
func (s *simpleInformer) HasSyncedChecker() DoneChecker { return s.Controller.HasSyncedChecker() }
func (s *simpleInformer) LastSyncResourceVersion() string {
	return s.Controller.LastSyncResourceVersion()
}
func (s *simpleInformer) IsStopped() bool { return s.stopped }
func (s *simpleInformer) GetStore() Store { return s.store }

// compareSimple is compare with simple informers.
func (s stories) compareSimple(t *testing.T) {
	t.Helper()
	simple := stories{}
	for name, tell := range s {
		simple[name] = func(t *testing.T, c *transcript) {
			c.machinery = c.asSimple()
			tell(t, c)
		}
	}
	simple.compare(t)
}

func TestSimpleInformers_DoWithFakesWhatClientGosDo(t *testing.T) {
	for name, told := range map[string]stories{
		"reactors": withReactors, "trackers": onTrackers, "versions": withOddVersions(), "cuts": cutWatches(),
	} {
		t.Run(name, told.compareSimple)
	}
}
