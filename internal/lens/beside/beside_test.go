package beside

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"glasswatch/internal/lens/look"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var web = Object{"Service", "default/web"}

// bench is a comparison whose informers are played by the test.
type bench struct {
	*Beside
	busy   atomic.Bool
	told   atomic.Int32
	mu     sync.Mutex // protects stored
	stored [2]map[Object]string
}

// inBubble tells a story. rest lets time pass until all is quiet.
func inBubble(t *testing.T, story func(b *bench, rest func())) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{stored: [2]map[Object]string{{}, {}}}
		b.Beside = New(Options{
			Before: func() {}, Busy: b.busy.Load, Changed: func() { b.told.Add(1) },
			Ours: map[string]look.Informer{"services": ours{b: b}},
		})
		b.stores["Service"] = played{b: b}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan struct{})
		go func() { defer close(ended); b.Run(ctx) }()
		story(b, func() { time.Sleep(2*quietAfter + time.Second) })
		cancel()
		<-ended
	})
}

// The words of a side: what its handler is told, and what is then in its store.
func (b *bench) add(side int, o Object, rv string) { b.tell(side, o, rv, Call{Name: "OnAdd"}) }
func (b *bench) update(side int, o Object, old, rv string) {
	b.tell(side, o, rv, Call{Name: "OnUpdate", Old: old})
}
func (b *bench) remove(side int, o Object, rv string, tombstone bool) {
	b.tell(side, o, rv, Call{Name: "OnDelete", Tombstone: tombstone})
}

func (b *bench) tell(side int, o Object, rv string, call Call) {
	b.Record(side, look.Event{
		At: look.Called, Kind: o.Kind, Key: o.Key, RV: rv, Action: call.Name, Old: call.Old, Tombstone: call.Tombstone,
	})
	b.put(side, o, rv, call.Name)
}

// sent tells what both sides were sent.
func (b *bench) sent(rv, problem string) {
	both(func(side int) { b.sentTo(side, rv, problem) })
}

func (b *bench) sentTo(side int, rv, problem string) {
	b.Record(side, look.Event{At: look.Sent, Kind: web.Kind, Key: web.Key, RV: rv, Action: "MODIFIED", Error: problem})
}

// ours is our informer.
type ours struct {
	look.Informer
	b *bench
}

func (in ours) Refs() (refs []look.Ref) {
	for o, rv := range in.b.store(Ours) {
		refs = append(refs, look.Ref{Kind: o.Kind, Key: o.Key, RV: rv})
	}
	return refs
}

// played is client-go's store.
type played struct {
	cache.Store
	b *bench
}

func (p played) List() (all []any) {
	for o, rv := range p.b.store(ClientGo) {
		namespace, name, _ := strings.Cut(o.Key, "/")
		all = append(all, &metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: rv})
	}
	return all
}

func (b *bench) store(side int) map[Object]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.stored[side])
}

func (b *bench) put(side int, o Object, rv, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stored[side][o] = rv; name == "OnDelete" {
		delete(b.stored[side], o)
	}
}

// both tells both sides.
func both(tell func(side int)) { tell(Ours); tell(ClientGo) }

func TestBeside_WhatCountsAsADifference(t *testing.T) {
	created := func(b *bench) { both(func(side int) { b.add(side, web, "5") }) }
	for want, tell := range map[string]func(b *bench){
		"call": func(b *bench) {
			created(b)
			b.remove(Ours, web, "5", false)
			b.remove(ClientGo, web, "5", true)
		},
		"order": func(b *bench) { // a call is lost
			created(b)
			b.sentTo(Ours, "6", "")
			b.update(Ours, web, "6", "7")
		},
		"order, added twice":   func(b *bench) { created(b); b.add(Ours, web, "6") },
		"order, deleted twice": func(b *bench) { created(b); b.remove(Ours, web, "6", false); b.remove(Ours, web, "6", false) },
		"state":                func(b *bench) { created(b); b.update(ClientGo, web, "5", "6") },
		"state, not deleted":   func(b *bench) { created(b); b.remove(ClientGo, web, "5", true) },
		"store":                func(b *bench) { created(b); b.put(Ours, web, "", "OnDelete") },
		"fold": func(b *bench) {
			created(b)
			b.sent("6", "")
			b.sent("7", "")
			b.update(Ours, web, "5", "7")
			b.update(ClientGo, web, "5", "6")
			b.update(ClientGo, web, "6", "7")
		},
		"queue": func(b *bench) { created(b); b.queues[Ours].Add(Object{"Service", "nobody/asked"}) },
	} {
		t.Run(want, func(t *testing.T) {
			inBubble(t, func(b *bench, rest func()) {
				tell(b)
				rest()
				r := b.Report(web.Key)
				if assert.NotNil(t, r.First) {
					assert.Contains(t, want, r.First.Differs)
				}
				assert.Equal(t, 1, r.Differences)
				assert.Positive(t, b.told.Load())
				rest()
				assert.Equal(t, 1, b.Counts().Differences, "it is counted once")
			})
		})
	}
}

func TestBeside_WhatDoesNotCount(t *testing.T) {
	for name, tell := range map[string]func(b *bench){
		"several updates are one": func(b *bench) {
			both(func(side int) { b.add(side, web, "5") })
			b.update(Ours, web, "5", "6")
			b.update(Ours, web, "6", "7")
			b.update(ClientGo, web, "5", "7")
		},
		"several updates that were sent are one, before a list": func(b *bench) {
			both(func(side int) { b.add(side, web, "5") })
			b.sent("6", "")
			b.sent("7", "")
			b.Opened()
			b.update(Ours, web, "5", "7")
			b.update(ClientGo, web, "5", "6")
			b.update(ClientGo, web, "6", "7")
		},
		"a deletion and a creation are an update": func(b *bench) {
			both(func(side int) { b.add(side, web, "5") })
			b.remove(Ours, web, "6", false)
			b.add(Ours, web, "7")
			b.update(ClientGo, web, "5", "7")
		},
		"a creation and a deletion are nothing": func(b *bench) {
			b.add(Ours, web, "5")
			b.remove(Ours, web, "6", false)
		},
		"a deletion that one side saw": func(b *bench) {
			both(func(side int) { b.add(side, web, "5") })
			b.remove(Ours, web, "6", false)
			b.remove(ClientGo, web, "5", true)
		},
		"resyncs": func(b *bench) {
			both(func(side int) { b.add(side, web, "5") })
			b.update(Ours, web, "5", "5")
		},
		"a lost event, before a list repairs it": func(b *bench) {
			both(func(side int) { b.add(side, web, "5") })
			b.sent("6", "lost")
			b.update(ClientGo, web, "5", "6")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *bench, rest func()) {
				tell(b)
				rest()
				assert.True(t, b.Counts().Quiet)
				assert.Nil(t, b.Report("").First)
			})
		})
	}
}

func TestBeside_WaitsWhileSomethingIsHeldBack(t *testing.T) {
	inBubble(t, func(b *bench, rest func()) {
		b.busy.Store(true)
		b.add(Ours, web, "5")
		rest()
		assert.False(t, b.Counts().Quiet)
		assert.Zero(t, b.Counts().Differences)
		b.busy.Store(false)
		b.add(ClientGo, web, "5")
		rest()
		assert.Equal(t, Counts{Calls: [2]uint64{1, 1}, Quiet: true}, b.Counts())
	})
}

func TestBeside_TheFirstDifferenceIsTheOneThatWasSeenFirst(t *testing.T) {
	inBubble(t, func(b *bench, rest func()) {
		for i := range 20 {
			b.add(Ours, Object{"Service", fmt.Sprint("default/s-", 50-i)}, fmt.Sprint(i))
		}
		rest()
		first := b.Report("default/s-50").First
		assert.Equal(t, "default/s-50", first.Key)
		assert.Equal(t, 20, b.Counts().Differences)
	})
}

func TestBeside_RowsOfAnObjectAreBounded(t *testing.T) {
	inBubble(t, func(b *bench, rest func()) {
		both(func(side int) {
			b.add(side, web, "0")
			for i := range 3 * rowsMost {
				b.update(side, web, fmt.Sprint(i), fmt.Sprint(i+1))
			}
		})
		rest()
		r := b.Report(web.Key)
		assert.Len(t, r.Rows["Service"], rowsMost)
		assert.Nil(t, r.First)
	})
}
