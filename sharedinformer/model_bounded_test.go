package sharedinformer

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// noDeadline hides T.Deadline, which a bubble forbids.
type noDeadline struct{ rapid.TB }

// patient is a handler each of whose calls lasts until somebody ends it, and its model: the calls that it should have got.
type patient struct {
	*listener[*config]
	calls []string
	end   chan struct{}

	want    []string
	called  int      // how many of want the handler has got; the last may be under way
	ended   int      // calls that were ended
	initial []string // the adds of the initial list
	removed bool
}

func (p *patient) call(n notification[*config]) {
	p.calls = append(p.calls, spell(n))
	<-p.end
}

func (p *patient) OnAdd(obj *config, initial bool) {
	p.call(notification[*config]{kind: added, initial: initial, obj: obj})
}

func (p *patient) OnUpdate(older, newer *config) {
	p.call(notification[*config]{kind: updated, old: older, obj: newer})
}

func (p *patient) OnDelete(d Deletion[*config]) {
	p.call(notification[*config]{kind: deleted, obj: d.Obj, unknownState: d.FinalStateUnknown})
}

// waiting is how many changes wait besides the initial list, the one that the handler is at included.
func (p *patient) waiting() (n int) {
	for i := p.ended; i < len(p.want); i++ {
		if i >= len(p.initial) {
			n++
		}
	}
	return n
}

// tell is what a batch does to the model.
func (p *patient) tell(batch []notification[*config]) {
	if p.removed {
		return
	}
	for _, n := range batch {
		p.want = append(p.want, spell(n))
		if n.initial {
			p.initial = append(p.initial, spell(n))
		}
	}
	p.called = min(p.ended+1, len(p.want))
	p.removed = p.opts.MaxBacklog > 0 && p.waiting() > p.opts.MaxBacklog
}

// endCall lets the call return that is under way.
func (p *patient) endCall(t *rapid.T) {
	if p.ended == p.called {
		t.Skip("no call is under way")
	}
	p.end <- struct{}{}
	p.ended++
	if !p.removed {
		p.called = min(p.ended+1, len(p.want))
	}
}

func (p *patient) check(t *rapid.T, i *Informer[*config]) {
	if p.removed && len(p.calls) == p.ended {
		p.called = p.ended // one that was idle may be removed before its next call
	}
	underWay := p.called - p.ended
	require.Equal(t, append([]string{}, p.want[:p.called]...), append([]string{}, p.calls...))
	require.Equal(t, p.removed && underWay == 0, isClosed(p.reg.Done()))
	if p.removed {
		require.ErrorIs(t, p.reg.Err(), ErrBacklog)
		require.ErrorContains(t, p.reg.Err(), p.reg.Name())
		require.NotContains(t, i.fanout.listeners, p.listener)
		return
	}
	require.NoError(t, p.reg.Err())
	require.Contains(t, i.fanout.listeners, p.listener)
	require.Equal(t, len(p.want)-p.ended, p.reg.Stats().Depth)
}

// join registers a handler and serves it, as Run does.
func join(t *rapid.T, i *Informer[*config], opts HandlerOptions) *patient {
	p := &patient{end: make(chan struct{})}
	_, err := i.AddHandler(p, opts)
	require.NoError(t, err)
	i.fanout.storeAndListeners.Lock()
	defer i.fanout.storeAndListeners.Unlock()
	p.listener = i.fanout.listeners[len(i.fanout.listeners)-1]
	i.fanout.serveLocked(p.listener)
	return p
}

// Each handler is served until more changes wait for it than its bound, whatever becomes of the others.
func TestHandler_WithABoundBehavesLikeItsModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(noDeadline{t}, func(t *rapid.T) {
			i := New(newServer(), Options[*config]{})
			i.fanout.runCtx = context.Background()
			var patients []*patient
			for _, bound := range rapid.SliceOfN(rapid.IntRange(0, 6), 1, 4).Draw(t, "bounds") {
				patients = append(patients, join(t, i, HandlerOptions{MaxBacklog: bound}))
			}
			defer func() {
				for _, p := range patients {
					_ = i.RemoveHandler(p.reg)
					close(p.end)
				}
				i.fanout.goroutines.Wait()
			}()
			w := &world{objects: map[string]*config{}}
			initial := rapid.IntRange(0, 8).Draw(t, "adds of the initial list")
			distribute := func(batch ...notification[*config]) {
				i.fanout.storeAndListeners.Lock()
				defer i.fanout.storeAndListeners.Unlock()
				i.fanout.distributeLocked(batch)
				for _, p := range patients {
					p.tell(batch)
				}
			}
			for n := range initial {
				distribute(w.put(string(rune('a'+n)), true))
			}
			name := rapid.SampledFrom([]string{"a", "b", "c"})
			t.Repeat(map[string]func(*rapid.T){
				"changes": func(t *rapid.T) {
					var batch []notification[*config]
					for range rapid.IntRange(1, 3).Draw(t, "size") {
						n := name.Draw(t, "name")
						if w.objects[n] != nil && rapid.Bool().Draw(t, "deletion") {
							batch = append(batch, w.remove(n, rapid.Bool().Draw(t, "unseen")))
						} else {
							batch = append(batch, w.put(n, false))
						}
					}
					distribute(batch...)
				},
				"calls return": func(t *rapid.T) {
					p := rapid.SampledFrom(patients).Draw(t, "of")
					p.endCall(t)
					for range rapid.IntRange(0, 5).Draw(t, "more") {
						synctest.Wait()
						if p.ended < p.called {
							p.endCall(t)
						}
					}
				},
				"": func(t *rapid.T) {
					synctest.Wait()
					for _, p := range patients {
						p.check(t, i)
					}
				},
			})
		})
	})
}
