package sharedinformer

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/internal/keys"
	"glasswatch/listwatch"
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
	for _, k := range slices.SortedFunc(maps.Keys(s.objects), keys.Compare) {
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
