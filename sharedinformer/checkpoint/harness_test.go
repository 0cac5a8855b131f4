package checkpoint

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

type (
	config          = corev1.ConfigMap
	key             = listwatch.Key
	informerOptions = sharedinformer.Options[*config]
)

// server is a ListerWatcher with verbs: a resource of ConfigMaps with a history.
type server struct {
	mu        sync.Mutex
	changed   sync.Cond // on mu
	revision  int
	objects   map[key]*config
	history   []listwatch.Event[*config]
	compacted int          // history up to here is gone
	broken    int          // streams opened before this many breaks have ended
	bad       map[key]bool // cannot be read by the client
}

func newServer() *server {
	s := &server{objects: map[key]*config{}, bad: map[key]bool{}}
	s.changed.L = &s.mu
	return s
}

func named(name string) key { return key{Namespace: "default", Name: name} }

// Put creates or updates an object.
func (s *server) Put(name, value string) {
	k := named(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	obj := &config{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name}, Data: map[string]string{"value": value}}
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

// Garble makes an object unreadable.
func (s *server) Garble(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bad[named(name)] = true
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
	list := &listwatch.List[*config]{ResourceVersion: strconv.Itoa(s.revision)}
	for _, k := range slices.SortedFunc(maps.Keys(s.objects), func(a, b key) int { return strings.Compare(a.Name, b.Name) }) {
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
	r.mu.Unlock()
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

func (r *recorder) OnDelete(d sharedinformer.Deletion[*config]) {
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
	cancel   context.CancelFunc
	ended    chan error
}

// inVirtualTime tells a story and ends it: the informer is stopped and every goroutine must go.
func inVirtualTime(t *testing.T, opts informerOptions, file Options, tell func(s *story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &story{T: t, server: newServer()}
		opts.Reflector.DisableStreamingList = true
		opts.Reflector.Backoff = reflector.Backoff{Base: 100 * time.Millisecond, Max: time.Second}
		opts.WatchErrorHandler = func(context.Context, error) {}
		var err error
		s.informer, err = New(s.server, opts, file)
		require.NoError(t, err)
		defer s.Stop() // even if the story went wrong
		tell(s)
	})
}

// Start runs the informer and waits until all is quiet.
func (s *story) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.ended = cancel, make(chan error, 1)
	go func() { s.ended <- s.informer.Run(ctx) }()
	synctest.Wait()
}

// Stop ends the informer, once, and waits for Run.
func (s *story) Stop() {
	if s.cancel != nil {
		s.cancel()
		s.cancel = nil
		require.NoError(s, <-s.ended)
	}
}

// Pass lets time pass.
func (s *story) Pass(d time.Duration) { apiservertest.Pass(d) }

// ExpectStore compares the store with the server.
func (s *story) ExpectStore() {
	s.Helper()
	have := map[string]string{}
	for k, obj := range s.informer.Store().Snapshot().All() {
		have[k.Name] = obj.ResourceVersion
	}
	require.Equal(s, s.server.versions(), have)
}
