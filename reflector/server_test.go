package reflector

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/listwatch"
)

type object = *metav1.PartialObjectMetadata

// request is one List or Watch as the server saw it.
type request struct {
	verb string // "list", "watch", "stream" for a streaming list
	opts metav1.ListOptions
	at   time.Time
}

func (q request) String() string {
	s := fmt.Sprintf("%s@%q", q.verb, q.opts.ResourceVersion)
	if q.opts.Limit != 0 {
		s += fmt.Sprintf(" limit=%d", q.opts.Limit)
	}
	if q.opts.Continue != "" {
		s += " continue"
	}
	return s
}

type change struct {
	rv   int
	typ  listwatch.EventType
	key  listwatch.Key
	bad  bool
	anon bool // bad, and not even the key can be read
}

// server is a scripted API server with one resource. Changes and faults are its verbs; it answers what the real one
// would, where the reflector can tell.
type server struct {
	mu        sync.Mutex
	rv        int
	objects   map[listwatch.Key]change // the last change of each
	history   []change
	compacted int // a watch from before this version is refused
	streams   map[*fakeStream]struct{}
	requests  []request
	gate      sync.Mutex // who holds it has streams hand out nothing

	// faults
	failLists, failWatches []error // consumed one a request
	failStreams            []error // streaming lists only, before failWatches
	refuseStreaming        error   // stays
	refuseWatches          error   // stays; streaming lists pass
	withholdEnd            bool    // no bookmark ends the initial events
	hang                   bool    // requests are not answered until cancelled
	pageCap                int     // the server splits lists even without a limit
	watchCache             bool    // ignores limits at "0"
	repeatToken            bool
	garbleLists            int // so many lists have an item at their end that nobody can read
}

func newServer() *server {
	return &server{objects: map[listwatch.Key]change{}, streams: map[*fakeStream]struct{}{}}
}

func keyNamed(name string) listwatch.Key { return listwatch.Key{Namespace: "ns", Name: name} }

func (c change) object() object {
	obj := &metav1.PartialObjectMetadata{}
	obj.Namespace, obj.Name, obj.ResourceVersion = c.key.Namespace, c.key.Name, strconv.Itoa(c.rv)
	return obj
}

func (c change) objectError(inList bool) *listwatch.ObjectError {
	e := &listwatch.ObjectError{Type: c.typ, Key: c.key, ResourceVersion: strconv.Itoa(c.rv), Err: errors.New("garbage")}
	if inList {
		e.Type = 0
	}
	if c.anon {
		e.Key = listwatch.Key{}
	}
	return e
}

// result is what a stream hands out for c.
func (c change) result() result {
	if c.bad {
		return result{err: c.objectError(false)}
	}
	return result{ev: listwatch.Event[object]{Type: c.typ, Object: c.object(), ResourceVersion: strconv.Itoa(c.rv)}}
}

// ---- changes

func (s *server) commit(c change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, exists := s.objects[c.key]
	switch {
	case c.typ == listwatch.Deleted && !exists:
		return
	case c.typ == listwatch.Deleted:
		delete(s.objects, c.key)
	case exists:
		c.typ = listwatch.Modified
	default:
		c.typ = listwatch.Added
	}
	s.rv++
	c.rv = s.rv
	if c.typ != listwatch.Deleted {
		s.objects[c.key] = c
	}
	s.history = append(s.history, c)
	for st := range s.streams {
		st.push(c.result())
	}
}

// Put creates or updates objects.
func (s *server) Put(names ...string) {
	for _, name := range names {
		s.commit(change{key: keyNamed(name)})
	}
}

// Spoil writes a version that no client can read.
func (s *server) Spoil(name string) { s.commit(change{key: keyNamed(name), bad: true}) }

// SpoilAnon writes a version of which not even the name can be read.
func (s *server) SpoilAnon(name string) { s.commit(change{key: keyNamed(name), bad: true, anon: true}) }

func (s *server) Delete(name string) {
	s.commit(change{key: keyNamed(name), typ: listwatch.Deleted})
}

// DeleteSpoilt deletes with an event that cannot be read.
func (s *server) DeleteSpoilt(name string) {
	s.commit(change{key: keyNamed(name), typ: listwatch.Deleted, bad: true})
}

// ---- faults

func (s *server) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// BreakWatch ends all streams with err.
func (s *server) BreakWatch(err error) { s.send(result{err: err}) }

// Bookmark sends a bookmark of the present version.
func (s *server) Bookmark() { s.BookmarkAt(s.version()) }

func (s *server) BookmarkAt(version string) {
	s.send(result{ev: listwatch.Event[object]{Type: listwatch.Bookmark, ResourceVersion: version}})
}

// Send puts an event of any version on the streams, without a change.
func (s *server) Send(typ listwatch.EventType, name string, rv int) {
	s.send(change{rv: rv, typ: typ, key: keyNamed(name)}.result())
}

func (s *server) send(what result) {
	s.set(func() {
		for st := range s.streams {
			st.push(what)
		}
	})
}

// Compact forgets the history up to now.
func (s *server) Compact() { s.set(func() { s.compacted = s.rv }) }

// Skip lets versions pass that belong to other resources.
func (s *server) Skip(n int) { s.set(func() { s.rv += n }) }

// Rewind restores a backup taken n changes ago: everything since is undone, as are its versions, and streams end.
func (s *server) Rewind(n int) {
	s.BreakWatch(io.ErrUnexpectedEOF)
	s.set(func() {
		s.history = s.history[:max(0, len(s.history)-n)]
		s.rv, s.objects = 0, map[listwatch.Key]change{}
		for _, c := range s.history {
			s.rv = c.rv
			if c.typ == listwatch.Deleted {
				delete(s.objects, c.key)
			} else {
				s.objects[c.key] = c
			}
		}
		s.compacted = min(s.compacted, s.rv)
	})
}

// Heal takes all faults away that stay.
func (s *server) Heal() {
	s.set(func() {
		s.failLists, s.failWatches, s.failStreams, s.refuseStreaming, s.refuseWatches = nil, nil, nil, nil, nil
		s.withholdEnd, s.hang, s.repeatToken = false, false, false
		s.garbleLists = 0
	})
}

// ---- errors as a server sends them

var things = schema.GroupResource{Resource: "things"}

func expired() error  { return apierrors.NewResourceExpired("too old resource version") }
func tooLarge() error { return timeoutTooLarge(metav1.CauseTypeResourceVersionTooLarge) }
func timeoutTooLarge(cause metav1.CauseType) error {
	err := apierrors.NewTimeoutError("Too large resource version: 9, current: 1", 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: cause, Message: "Too large resource version"}}
	return err
}
func invalid() error   { return apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil) }
func forbidden() error { return apierrors.NewForbidden(things, "", errors.New("no")) }
func internal() error  { return apierrors.NewInternalError(errors.New("etcd")) }
func outage() error    { return apierrors.NewServiceUnavailable("starting") }
func badGateway() error {
	return apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", things, "", "", 0, true)
}
func gatewayTimeout() error {
	return apierrors.NewGenericServerResponse(http.StatusGatewayTimeout, "get", things, "", "", 0, true)
}
func resetStream() error {
	return errors.New("stream error: stream ID 7; INTERNAL_ERROR; received from peer")
}
func busy(retryAfter int) error {
	return apierrors.NewTooManyRequests("slow down", retryAfter)
}
