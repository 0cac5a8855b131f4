package differential

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"glasswatch/internal/extent"
)

// histories is how many histories may go by before a liar must be found out.
const histories = 300

func TestDifferential_FindsAnInformerThatLies(t *testing.T) {
	scripts := rapid.Custom(func(r *rapid.T) script {
		return drawScript(r, rapid.SampledFrom(modes).Draw(r, "mode"))
	})
	for name, lie := range lies {
		if name == foundLate && !extent.IsFull() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			build := func(lw clientgo.ListerWatcher, example runtime.Object, resync time.Duration, indexers clientgo.Indexers) clientgo.SharedIndexInformer {
				return liar{clientgo.NewSharedIndexInformer(lw, example, resync, indexers), lie}
			}
			cast := []namedInformer{facades[0], {"a liar", build}}
			for seed := range histories {
				if problem := perform(t, scripts.Example(seed), cast, nil); problem != "" {
					require.Contains(t, problem, "a liar")
					t.Logf("found out by history %d: %s", seed+1, problem)
					return
				}
			}
			t.Fatalf("not found out by %d histories", histories)
		})
	}
}

// lie is the wrong calls of an informer with one bug.
type lie func(to clientgo.ResourceEventHandler) clientgo.ResourceEventHandler

// told makes a handler of three functions.
type told = clientgo.ResourceEventHandlerDetailedFuncs

// foundLate names the lie that takes several times as many histories as the others.
const foundLate = "relists and resyncs go unnoticed"

var lies = map[string]lie{
	"no tombstones": func(to clientgo.ResourceEventHandler) clientgo.ResourceEventHandler {
		return told{AddFunc: to.OnAdd, UpdateFunc: to.OnUpdate, DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(clientgo.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			to.OnDelete(obj)
		}}
	},
	"nothing is initial": func(to clientgo.ResourceEventHandler) clientgo.ResourceEventHandler {
		return told{AddFunc: func(obj any, _ bool) { to.OnAdd(obj, false) }, UpdateFunc: to.OnUpdate, DeleteFunc: to.OnDelete}
	},
	"the old version is the new one": func(to clientgo.ResourceEventHandler) clientgo.ResourceEventHandler {
		return told{AddFunc: to.OnAdd, UpdateFunc: func(_, obj any) { to.OnUpdate(obj, obj) }, DeleteFunc: to.OnDelete}
	},
	"an update is an add": func(to clientgo.ResourceEventHandler) clientgo.ResourceEventHandler {
		return told{AddFunc: to.OnAdd, UpdateFunc: func(_, obj any) { to.OnAdd(obj, false) }, DeleteFunc: to.OnDelete}
	},
	foundLate: func(to clientgo.ResourceEventHandler) clientgo.ResourceEventHandler {
		return told{AddFunc: to.OnAdd, UpdateFunc: func(old, obj any) {
			if versionOf(old) != versionOf(obj) {
				to.OnUpdate(old, obj)
			}
		}, DeleteFunc: to.OnDelete}
	},
	"every tenth call is lost": func(to clientgo.ResourceEventHandler) clientgo.ResourceEventHandler {
		calls := 0
		keep := func(call func()) {
			if calls++; calls%10 != 0 {
				call()
			}
		}
		return told{
			AddFunc:    func(obj any, initial bool) { keep(func() { to.OnAdd(obj, initial) }) },
			UpdateFunc: func(old, obj any) { keep(func() { to.OnUpdate(old, obj) }) },
			DeleteFunc: func(obj any) { keep(func() { to.OnDelete(obj) }) },
		}
	},
	"deletions come twice": func(to clientgo.ResourceEventHandler) clientgo.ResourceEventHandler {
		return told{AddFunc: to.OnAdd, UpdateFunc: to.OnUpdate, DeleteFunc: func(obj any) {
			to.OnDelete(obj)
			to.OnDelete(obj)
		}}
	},
	"updates come late": func(to clientgo.ResourceEventHandler) clientgo.ResourceEventHandler {
		var held func()
		next := func(call func()) {
			if held != nil {
				held()
			}
			held = nil
			call()
		}
		return told{
			AddFunc:    func(obj any, initial bool) { next(func() { to.OnAdd(obj, initial) }) },
			UpdateFunc: func(old, obj any) { next(func() { held = func() { to.OnUpdate(old, obj) } }) },
			DeleteFunc: func(obj any) { next(func() { to.OnDelete(obj) }) },
		}
	},
}

func versionOf(obj any) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return m.GetResourceVersion()
}

// liar is an informer that lies to its handlers.
type liar struct {
	clientgo.SharedIndexInformer
	lie lie
}

func (l liar) AddEventHandler(h clientgo.ResourceEventHandler) (clientgo.ResourceEventHandlerRegistration, error) {
	return l.SharedIndexInformer.AddEventHandler(l.lie(h))
}

func (l liar) AddEventHandlerWithResyncPeriod(h clientgo.ResourceEventHandler, period time.Duration) (clientgo.ResourceEventHandlerRegistration, error) {
	return l.SharedIndexInformer.AddEventHandlerWithResyncPeriod(l.lie(h), period)
}
