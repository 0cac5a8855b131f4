package merged

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/internal/keys"
	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

// history is a resource with one history, which many views show, each in its own time.
type history struct {
	mu      sync.Mutex
	changed sync.Cond
	log     []change // log[i] made revision i+1
	objects map[key]*config
}

type change struct {
	key       key
	obj, prev *config // nil: it is not there
}

func newHistory() *history {
	c := &history{objects: map[key]*config{}}
	c.log = make([]change, 1) // a revision at which there is nothing: 0 would be a version of its own kind
	c.changed.L = &c.mu
	return c
}

// Put creates or updates an object with the labels a, b, … that selectors ask for.
func (c *history) Put(name string, labels ...string) { c.PutKey(named(name), labels...) }

func (c *history) PutKey(k key, labels ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj := &config{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name, Labels: map[string]string{}}}
	for _, l := range labels {
		obj.Labels[l] = ""
	}
	obj.ResourceVersion = strconv.Itoa(c.revisionLocked() + 1)
	if old := c.objects[k]; old != nil {
		obj.UID = old.UID
	} else {
		obj.UID = types.UID("uid-" + obj.ResourceVersion)
	}
	c.recordLocked(k, obj)
}

// Delete removes an object, if it is there.
func (c *history) Delete(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects[named(name)] != nil {
		c.recordLocked(named(name), nil)
	}
}

func (c *history) recordLocked(k key, obj *config) {
	c.log = append(c.log, change{k, obj, c.objects[k]})
	if obj == nil {
		delete(c.objects, k)
	} else {
		c.objects[k] = obj
	}
	c.changed.Broadcast()
}

func (c *history) revisionLocked() int { return len(c.log) }

// view is a ListerWatcher on what matches.
type view struct {
	*history
	match func(*config) bool
	// All under the cluster's mu.
	upTo      int // the revision that it has come to, if paused
	paused    bool
	streams   int // opened before this many breaks have ended
	compacted int
	bookmark  int // the last revision that somebody asked a bookmark of
	err       error
	bad       map[key]bool
}

func (c *history) view(match func(*config) bool) *view {
	return &view{history: c, match: match, bad: map[key]bool{}}
}

// labelled shows what has the label.
func (c *history) labelled(label string) *view {
	return c.view(func(o *config) bool { _, ok := o.Labels[label]; return ok })
}

func (c *history) namespace(ns string) *view {
	return c.view(func(o *config) bool { return o.Namespace == ns })
}

func (v *view) change(do func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	do()
	v.changed.Broadcast()
}

// Pause makes the view stay at what it shows.
func (v *view) Pause() { v.change(func() { v.upTo, v.paused = v.nowLocked(), true }) }

// Resume makes the view follow the cluster.
func (v *view) Resume() { v.change(func() { v.paused = false }) }

// Bookmark sends one.
func (v *view) Bookmark() { v.change(func() { v.bookmark = v.nowLocked() }) }

// Relist makes the reflector list again, having seen nothing of what happened meanwhile.
func (v *view) Relist(meanwhile func()) {
	v.change(func() { v.streams++; v.compacted = int(^uint(0) >> 1) })
	meanwhile()
	v.change(func() { v.compacted = v.revisionLocked() })
}

// Garble makes an object unreadable.
func (v *view) Garble(name string) { v.change(func() { v.bad[named(name)] = true }) }

// Fail makes lists and watches fail; nil heals.
func (v *view) Fail(err error) { v.change(func() { v.err = err; v.streams++ }) }

func (v *view) nowLocked() int {
	if v.paused {
		return v.upTo
	}
	return v.revisionLocked()
}

func (v *view) matches(o *config) bool { return o != nil && v.match(o) }

func (v *view) List(ctx context.Context, _ metav1.ListOptions) (*listwatch.List[*config], error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return nil, v.err
	}
	state := map[key]*config{}
	for n, ch := range v.log {
		if n+1 <= v.nowLocked() {
			state[ch.key] = ch.obj
		}
	}
	list := &listwatch.List[*config]{ResourceVersion: strconv.Itoa(v.nowLocked())}
	for _, k := range slices.SortedFunc(maps.Keys(state), keys.Compare) {
		switch {
		case !v.matches(state[k]):
		case v.bad[k]:
			list.Bad = append(list.Bad, &listwatch.ObjectError{Key: k, Err: io.ErrUnexpectedEOF})
		default:
			list.Items = append(list.Items, state[k].DeepCopy())
		}
	}
	return list, ctx.Err()
}

func (v *view) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[*config], error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	from, err := strconv.Atoi(opts.ResourceVersion)
	switch {
	case err != nil:
		return nil, err
	case v.err != nil:
		return nil, v.err
	case from < v.compacted || from > v.revisionLocked():
		return nil, apierrors.NewResourceExpired("too old")
	}
	s := &viewStream{view: v, from: from, streams: v.streams}
	s.release = context.AfterFunc(ctx, func() { s.Close() })
	return s, nil
}

type viewStream struct {
	view     *view
	release  func() bool
	from     int
	bookmark int
	streams  int
	closed   bool
}

func (s *viewStream) Next() (ev listwatch.Event[*config], err error) {
	v := s.view
	v.mu.Lock()
	defer v.mu.Unlock()
	for {
		switch {
		case s.closed:
			return ev, context.Canceled
		case s.streams != v.streams:
			return ev, io.EOF
		}
		for s.from < v.nowLocked() {
			s.from++
			ev := v.event(v.log[s.from-1], s.from)
			switch k := v.log[s.from-1].key; {
			case ev.Type == 0:
			case v.bad[k]:
				return listwatch.Event[*config]{},
					&listwatch.ObjectError{Type: ev.Type, Key: k, ResourceVersion: ev.ResourceVersion, Err: io.ErrUnexpectedEOF}
			default:
				return ev, nil
			}
		}
		if v.bookmark > s.bookmark {
			s.bookmark = v.bookmark
			version := strconv.Itoa(max(s.from, s.bookmark))
			return listwatch.Event[*config]{Type: listwatch.Bookmark, ResourceVersion: version}, nil
		}
		v.changed.Wait()
	}
}

// event is what a watch says of a change: nothing, an object that comes into sight, one that changes, one that goes
// out of sight.
func (v *view) event(ch change, revision int) (ev listwatch.Event[*config]) {
	obj := ch.obj
	switch before, after := v.matches(ch.prev), v.matches(ch.obj); {
	case before && after:
		ev.Type = listwatch.Modified
	case after:
		ev.Type = listwatch.Added
	case before:
		ev.Type, obj = listwatch.Deleted, ch.prev
	default:
		return ev
	}
	ev.Object = obj.DeepCopy()
	ev.Object.ResourceVersion = strconv.Itoa(revision)
	ev.ResourceVersion = ev.Object.ResourceVersion
	return ev
}

func (s *viewStream) Close() error {
	s.view.mu.Lock()
	defer s.view.mu.Unlock()
	s.release()
	s.closed = true
	s.view.changed.Broadcast()
	return nil
}

// mergedStory runs a merged informer on views of one cluster, in virtual time.
type mergedStory struct {
	*testing.T
	*history
	views    map[string]*view
	garbled  map[key]bool // what any view could not read, if the model's script says so
	informer *Informer[*config]
	told     *recorder
	runner
}

// inViews tells a story of views by name: one letter is a label, more are a namespace.
func inViews(t *testing.T, names []string, tell func(s *mergedStory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newMergedStory(t, Options[*config]{}, names...)
		defer s.Stop()
		tell(s)
		s.Stop()
		require.Empty(t, s.told.lies)
	})
}

func newMergedStory(t *testing.T, opts Options[*config], names ...string) *mergedStory {
	s := &mergedStory{T: t, history: newHistory(), views: map[string]*view{}, garbled: map[key]bool{}, told: newRecorder()}
	opts.Name = "configs"
	opts.Reflector.DisableStreamingList = true
	opts.WatchErrorHandler = func(context.Context, error) {}
	opts.OnObjectError = func(key, error) {}
	opts.Reflector.Backoff = reflector.Backoff{Base: 100 * time.Millisecond, Max: time.Second}
	var sources []Source[*config]
	for _, name := range names {
		sources = append(sources, s.source(name))
	}
	var err error
	s.informer, err = New(sources, opts)
	require.NoError(t, err)
	_, err = s.informer.AddHandler(s.told, sharedinformer.HandlerOptions{})
	require.NoError(t, err)
	return s
}

func (s *mergedStory) source(name string) Source[*config] {
	v, ns := s.labelled(name), ""
	if len(name) > 1 {
		v, ns = s.namespace(name), name
	}
	s.views[name] = v
	return Source[*config]{Name: name, ListerWatcher: v, Namespace: ns}
}

func (s *mergedStory) Start() {
	s.Begin(s.informer.Run)
	s.Settle()
}

func (s *mergedStory) Stop() {
	s.End(s)
}

func (s *mergedStory) Settle() {
	synctest.Wait()
	s.informer.merge.checkInvariants(s.T)
}

func (s *mergedStory) Pass(d time.Duration) {
	<-time.After(d)
	s.Settle()
}

// Expect compares what the handler was told since the last time.
func (s *mergedStory) Expect(want ...string) {
	s.Helper()
	s.Settle()
	require.Equal(s, want, s.told.take())
	require.Empty(s, s.told.lies)
}

func (s *mergedStory) bookmarks() {
	for _, v := range s.views {
		v.Bookmark()
	}
	s.Settle()
}

// checkInvariants checks what the fields' comments promise. Nothing may be going on.
func (m *merge[T]) checkInvariants(t require.TestingT) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held, waiting := map[*source[T]]int{}, 0
	for k, e := range m.entries {
		require.Equal(t, k, e.key)
		require.True(t, len(e.holders) > 0 || e.isShown || e.lost.version != "", "%v: nothing is known of it", k)
		for n, h := range e.holders {
			held[h.from]++
			require.Contains(t, m.sources, h.from)
			require.Equal(t, n, e.find(h.from), "a source holds it twice")
			if m.synced && e.isShown && h.version == e.shown.version {
				require.Nil(t, h.obj, "%v: what is shown is kept", k)
			}
		}
		if m.synced {
			_, waits := m.waiting[e]
			require.Equal(t, e.lost.version != "", waits, "%v: a loss waits for a source", k)
		}
		if e.lost.version != "" && m.synced {
			waiting++
		}
		require.True(t, e.lost.version != "" || e.final == nil, "%v: what is deleted is kept", k)
	}
	for _, s := range m.sources {
		require.Equal(t, held[s], s.objects)
	}
	require.Len(t, m.waiting, waiting)
}

var errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "configs"}, "", errors.New("no"))
