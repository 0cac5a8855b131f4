package sharedinformer

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/listwatch"
	"glasswatch/reflector"
)

type config = corev1.ConfigMap

// server is a ListerWatcher with verbs: a resource of ConfigMaps with a history.
type server struct {
	mu        sync.Mutex
	changed   sync.Cond // on mu
	revision  int
	objects   map[key]*config
	history   []listwatch.Event[*config]
	compacted int // history up to here is gone
	broken    int // streams opened before this many breaks have ended
	listErr   error
	bad       map[key]bool // cannot be read by the client
	lists     int
	watches   int
}

func newServer() *server {
	s := &server{objects: map[key]*config{}, bad: map[key]bool{}}
	s.changed.L = &s.mu
	return s
}

func named(name string) key { return key{Namespace: "default", Name: name} }

// Put creates or updates an object.
func (s *server) Put(name, value string) { s.PutKey(named(name), value, nil) }

// PutLabelled is Put with labels.
func (s *server) PutLabelled(k key, labels map[string]string) { s.PutKey(k, "", labels) }

func (s *server) PutKey(k key, value string, labels map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	obj := &config{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name, Labels: labels}, Data: map[string]string{"value": value}}
	event := listwatch.Modified
	if old := s.objects[k]; old != nil {
		obj.UID = old.UID
	} else {
		obj.UID = types.UID(fmt.Sprintf("uid-%d", s.revision))
		event = listwatch.Added
	}
	s.recordLocked(event, obj)
	s.objects[k] = obj
}

// Delete removes an object, if it is there.
func (s *server) Delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.objects[named(name)]
	if old == nil {
		return
	}
	s.revision++
	delete(s.objects, named(name))
	s.recordLocked(listwatch.Deleted, old.DeepCopy())
}

func (s *server) recordLocked(event listwatch.EventType, obj *config) {
	obj.ResourceVersion = strconv.Itoa(s.revision)
	s.history = append(s.history, listwatch.Event[*config]{Type: event, Object: obj, ResourceVersion: obj.ResourceVersion})
	s.changed.Broadcast()
}

// BreakWatch ends every stream; they can be resumed.
func (s *server) BreakWatch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken++
	s.changed.Broadcast()
}

// Compact forgets the history and ends every stream: whoever watches must list.
func (s *server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	s.compacted = s.revision
	s.broken++
	s.changed.Broadcast()
}

// Unobserved runs verbs that no watcher sees: it ends the streams, runs them and forgets the history.
func (s *server) Unobserved(verbs func()) {
	s.mu.Lock()
	s.broken++
	s.compacted = int(^uint(0) >> 1)
	s.changed.Broadcast()
	s.mu.Unlock()
	verbs()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	s.compacted = s.revision
}

// Garble makes an object unreadable, or readable again.
func (s *server) Garble(name string, bad bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bad[named(name)] = bad
}

// FailLists makes every list fail with err; nil heals.
func (s *server) FailLists(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listErr = err
}

func (s *server) versions() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for k, obj := range s.objects {
		out[k.Name] = obj.ResourceVersion
	}
	return out
}

func (s *server) List(ctx context.Context, _ metav1.ListOptions) (*listwatch.List[*config], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	if s.listErr != nil {
		return nil, s.listErr
	}
	list := &listwatch.List[*config]{ResourceVersion: strconv.Itoa(s.revision)}
	for _, k := range slices.SortedFunc(maps.Keys(s.objects), compareKeys) {
		if s.bad[k] {
			list.Bad = append(list.Bad, &listwatch.ObjectError{Key: k, Err: io.ErrUnexpectedEOF})
			continue
		}
		list.Items = append(list.Items, s.objects[k].DeepCopy())
	}
	return list, ctx.Err()
}

func (s *server) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[*config], error) {
	from, err := strconv.Atoi(opts.ResourceVersion)
	if err != nil {
		return nil, fmt.Errorf("watch from %q", opts.ResourceVersion)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches++
	if from < s.compacted {
		return nil, apierrors.NewResourceExpired("too old")
	}
	st := &stream{server: s, from: from, generation: s.broken, ctx: ctx}
	st.release = context.AfterFunc(ctx, func() { st.Close() })
	return st, nil
}

type stream struct {
	server     *server
	ctx        context.Context
	release    func() bool
	from       int // what has been sent
	at         int // place in the history
	generation int
	closed     bool
}

func (st *stream) Next() (listwatch.Event[*config], error) {
	s := st.server
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case st.closed:
			return listwatch.Event[*config]{}, context.Canceled
		case st.generation != s.broken:
			return listwatch.Event[*config]{}, io.EOF
		}
		for st.at < len(s.history) {
			event := s.history[st.at]
			st.at++
			revision, _ := strconv.Atoi(event.ResourceVersion)
			if revision <= st.from {
				continue
			}
			st.from = revision
			if k := listwatch.KeyOf(event.Object); s.bad[k] {
				return listwatch.Event[*config]{}, &listwatch.ObjectError{Type: event.Type, Key: k, ResourceVersion: event.ResourceVersion, Err: io.ErrUnexpectedEOF}
			}
			event.Object = event.Object.DeepCopy()
			return event, nil
		}
		s.changed.Wait()
	}
}

func (st *stream) Close() error {
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	st.release() // under the lock: a context that has ended closes the stream while Watch still makes it
	st.closed = true
	st.server.changed.Broadcast()
	return nil
}

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
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, l := range i.listeners {
		l.mu.Lock()
		require.GreaterOrEqual(t, l.pendingInitial, 0)
		require.GreaterOrEqual(t, l.underWay, 0)
		if l.resync != 0 {
			require.GreaterOrEqual(t, l.resync, i.resyncCheck)
		}
		if l.HasSynced() {
			require.Zero(t, l.pendingInitial)
			require.True(t, i.HasSynced())
		}
		if l.folding == nil {
			require.Len(t, l.buf, l.waiting)
		} else {
			require.Len(t, l.folding.byKey, l.waiting)
			l.folding.checkInvariants(t)
		}
		l.mu.Unlock()
	}
	for _, op := range i.ops[:cap(i.ops)] {
		require.Zero(t, op.Key, "the scratch keeps nothing alive")
	}
}

func (b *foldingBacklog[T]) checkInvariants(t require.TestingT) {
	require.Len(t, b.byKey, b.steps.Len())
	for at := b.steps.Front(); at != nil; at = at.Next() {
		s := at.Value.(*step[T])
		require.Same(t, at, b.byKey[listwatch.KeyOf(s.obj)])
	}
}
