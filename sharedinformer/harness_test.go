package sharedinformer

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/listwatch"
	"glasswatch/reflector"
)

// recorder is a handler that writes down what it is told, and whether it was told lies.
type recorder struct {
	mu   sync.Mutex
	log  []string
	view map[key]*config // what the handler believes is there
	lies []string
	// during, if not nil, runs inside each call, with no lock held.
	during func(what string)
}

func newRecorder() *recorder { return &recorder{view: map[key]*config{}} }

func (r *recorder) note(legal bool, change func(), format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	r.mu.Lock()
	r.log = append(r.log, what)
	if !legal {
		r.lies = append(r.lies, fmt.Sprintf("%q after %q", what, r.log[:len(r.log)-1]))
	}
	change()
	during := r.during
	r.mu.Unlock()
	if during != nil {
		during(what)
	}
}

func (r *recorder) OnAdd(obj *config, isInInitialList bool) {
	k := listwatch.KeyOf(obj)
	suffix := ""
	if isInInitialList {
		suffix = " initial"
	}
	r.mu.Lock()
	known := r.view[k]
	r.mu.Unlock()
	r.note(known == nil, func() { r.view[k] = obj }, "add %s@%s%s", k.Name, obj.ResourceVersion, suffix)
}

func (r *recorder) OnUpdate(oldObj, newObj *config) {
	k := listwatch.KeyOf(newObj)
	r.mu.Lock()
	known := r.view[k]
	r.mu.Unlock()
	legal := known != nil && known.ResourceVersion == oldObj.ResourceVersion
	r.note(legal, func() { r.view[k] = newObj }, "update %s@%s→%s", k.Name, oldObj.ResourceVersion, newObj.ResourceVersion)
}

func (r *recorder) OnDelete(d Deletion[*config]) {
	r.mu.Lock()
	known := r.view[d.Key]
	r.mu.Unlock()
	suffix := ""
	if d.FinalStateUnknown {
		suffix = " unseen"
	}
	version := "?"
	if d.HasObj() {
		version = d.Obj.ResourceVersion
	}
	r.note(known != nil, func() { delete(r.view, d.Key) }, "delete %s@%s%s", d.Key.Name, version, suffix)
}

// take returns what was written down since the last take.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := r.log
	r.log = nil
	return log
}

func (r *recorder) believes() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]string{}
	for k, obj := range r.view {
		out[k.Name] = obj.ResourceVersion
	}
	return out
}

// story runs an informer on a server in virtual time.
type story struct {
	*testing.T
	server   *server
	informer *Informer[*config]
	runner
}

// inVirtualTime tells a story and ends it: the informer is stopped and every goroutine must go.
func inVirtualTime(t *testing.T, opts Options[*config], tell func(s *story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &story{T: t, server: newServer()}
		opts.Reflector.DisableStreamingList = true
		if opts.WatchErrorHandler == nil {
			opts.WatchErrorHandler = func(context.Context, error) {}
		}
		if opts.Reflector.Backoff == (reflector.Backoff{}) {
			opts.Reflector.Backoff = reflector.Backoff{Base: 100 * time.Millisecond, Max: time.Second}
		}
		s.informer = New(s.server, opts)
		defer s.Stop() // even if the story went wrong
		tell(s)
		s.Stop()
		s.informer.checkInvariants(t)
	})
}

// Start runs the informer and waits until all is quiet.
func (s *story) Start() {
	s.Begin(s.informer.Run)
	synctest.Wait()
}

// Stop ends the informer and waits for Run.
func (s *story) Stop() {
	s.End(s)
}

// Add registers a handler.
func (s *story) Add(h Handler[*config], opts HandlerOptions) *Registration {
	s.Helper()
	r, err := s.informer.AddHandler(h, opts)
	require.NoError(s, err)
	return r
}

// Settle lets everything happen that can happen now.
func (s *story) Settle() {
	synctest.Wait()
	s.informer.checkInvariants(s.T)
}

// Pass lets time pass.
func (s *story) Pass(d time.Duration) {
	<-time.After(d)
	s.Settle()
}

// ExpectStore compares the store with the server.
func (s *story) ExpectStore() {
	s.Helper()
	have := map[string]string{}
	for k, obj := range s.informer.Store().Snapshot().All() {
		have[k.Name] = obj.ResourceVersion
	}
	require.Equal(s, s.server.versions(), have)
}

// Expect compares what a recorder was told since the last time.
func (s *story) Expect(r *recorder, want ...string) {
	s.Helper()
	s.Settle()
	require.Equal(s, want, r.take())
	require.Empty(s, r.lies)
}

// checkInvariants checks what the fields' comments promise. Nothing may be going on.
func (i *Informer[T]) checkInvariants(t require.TestingT) {
	i.fanout.storeAndListeners.Lock()
	defer i.fanout.storeAndListeners.Unlock()
	for _, l := range i.fanout.listeners {
		l.checkInvariants(t, i)
	}
	for _, op := range i.writer.ops[:cap(i.writer.ops)] {
		require.Zero(t, op.Key, "the scratch keeps nothing alive")
	}
	for _, n := range i.writer.notes[:cap(i.writer.notes)] {
		require.Zero(t, n.kind, "the scratch keeps nothing alive")
	}
}

func (l *listener[T]) checkInvariants(t require.TestingT, i *Informer[T]) {
	if l.schedule.period != 0 {
		require.GreaterOrEqual(t, l.schedule.period, i.fanout.checkPeriod)
	}
	if l.reg.HasSynced() {
		require.True(t, i.HasSynced())
	}
	l.backlog.checkInvariants(t)
}

// checkInvariants unlocks whatever it finds: otherwise the end of a test that fails would wait for ever.
func (b *backlog[T]) checkInvariants(t require.TestingT) {
	b.mu.Lock()
	defer b.mu.Unlock()
	require.GreaterOrEqual(t, b.initialLeft, 0)
	require.GreaterOrEqual(t, b.callsLeft, 0)
	require.LessOrEqual(t, b.waitingLocked(), b.mostWaiting)
	if isClosed(b.synced) {
		require.Zero(t, b.initialLeft)
	}
	if b.folded != nil {
		require.Empty(t, b.waiting)
		b.folded.checkInvariants(t)
	}
}

func (f *foldedChanges[T]) checkInvariants(t require.TestingT) {
	require.Len(t, f.byKey, f.waiting.Len())
	initial := 0
	for at := f.waiting.Front(); at != nil; at = at.Next() {
		c := at.Value.(*netChange[T])
		require.Same(t, at, f.byKey[listwatch.KeyOf(c.obj)])
		require.True(t, c.known || c.exists, "nothing is left of it")
		if c.initial {
			initial++
		}
	}
	require.Equal(t, initial, f.initial)
}

// newListener makes a listener that belongs to no informer.
func newListener(h Handler[*config], opts HandlerOptions) *listener[*config] {
	b := newBacklog[*config](opts)
	return &listener[*config]{reg: newRegistration("r", &lifecycle{lastError: func() error { return nil }}, b), handler: h, opts: opts, backlog: b}
}

func nameOf(kind QueueKind) string {
	return map[QueueKind]string{InOrder: "InOrder", PerKey: "PerKey"}[kind]
}
