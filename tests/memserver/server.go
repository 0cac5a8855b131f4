package memserver

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// firstRevision is the head of an empty server.
const firstRevision = 100

// Options configure a server. The zero value streams, caches, and answers a list in one page.
type Options struct {
	// PageSize is the number of items in a page of a list that has a limit; 0: all.
	PageSize int
	// NoCache: a list at "0" is served as one at "" is, in pages.
	NoCache bool
	// Lag is how many revisions the watch cache is behind.
	Lag int
	// NoStreaming: streaming lists are refused as Invalid.
	NoStreaming bool
	// ExpireByEvent: a watch from a compacted revision begins, and ends with an ERROR event.
	ExpireByEvent bool
}

// Server holds the objects, their history and its clients. Its methods are safe for concurrent use.
type Server struct {
	opts Options

	mu       sync.Mutex // protects everything below, and the clients' and watches' fields
	changed  sync.Cond  // on mu: any change that a waiter may need
	revision int
	states   map[int]map[string]*corev1.ConfigMap // by revision; objects are never changed
	history  []change
	// Invariant: a watch from before compacted is refused, a page of an older moment, too.
	compacted int
	held      bool
	clients   []*Client
}

type change struct {
	revision int
	event    watch.EventType
	obj      *corev1.ConfigMap
}

// New returns an empty server.
func New(opts Options) *Server {
	s := &Server{opts: opts, revision: firstRevision, states: map[int]map[string]*corev1.ConfigMap{firstRevision: {}}}
	s.changed.L = &s.mu
	return s
}

// Client returns a client; name is for errors.
func (s *Server) Client(name string) *Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Client{server: s, name: name, failures: map[Verb][]Failure{}}
	s.clients = append(s.clients, c)
	return c
}

// Put creates or updates the object of key, which is "namespace/name" or "name".
func (s *Server) Put(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		namespace, name = "", key
	}
	next := s.revision + 1
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(fmt.Sprint("uid-", next))}}
	event := watch.Added
	if old := s.states[s.revision][key]; old != nil {
		obj.UID, event = old.UID, watch.Modified
	}
	obj.ResourceVersion = strconv.Itoa(next)
	obj.Data = map[string]string{"revision": obj.ResourceVersion}
	s.commitLocked(key, event, obj)
}

// Delete removes the object of key. One that is not there is left alone.
func (s *Server) Delete(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.states[s.revision][key]
	if old == nil {
		return
	}
	obj := old.DeepCopy()
	obj.ResourceVersion = strconv.Itoa(s.revision + 1)
	s.commitLocked(key, watch.Deleted, obj)
}

// Elsewhere is a write to another resource: the revision rises and no watch gets an event.
func (s *Server) Elsewhere() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[s.revision+1] = s.states[s.revision]
	s.revision++
}

func (s *Server) commitLocked(key string, event watch.EventType, obj *corev1.ConfigMap) {
	state := maps.Clone(s.states[s.revision])
	if event == watch.Deleted {
		delete(state, key)
	} else {
		state[key] = obj
	}
	s.revision++
	s.states[s.revision] = state
	s.history = append(s.history, change{s.revision, event, obj})
	s.changed.Broadcast()
}

// Compact forgets the history. Watches that are open go on; they have all of it.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compacted = s.revision
}

// Bookmark sends every open watch a bookmark with the newest version.
func (s *Server) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		for _, w := range c.watches {
			w.bookmark = true
		}
	}
	s.changed.Broadcast()
}

// EndWatches ends every watch, cleanly, after what is on its way.
func (s *Server) EndWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		for _, w := range c.watches {
			w.ended = true
		}
	}
	s.changed.Broadcast()
}

// Hold lets requests wait until Release. Open watches go on.
func (s *Server) Hold() { s.hold(true) }

// Release lets every request pass.
func (s *Server) Release() { s.hold(false) }

func (s *Server) hold(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
	s.changed.Broadcast()
}

// Answer lets one request of each client pass, although they are held. Withdraw it once all is quiet.
func (s *Server) Answer() { s.permit(1) }

// Withdraw takes back the unused permits of Answer.
func (s *Server) Withdraw() { s.permit(0) }

func (s *Server) permit(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		c.permits = n
	}
	s.changed.Broadcast()
}

// Fail plans a failure of the next request of each client. Of a paged list, only the first page can fail.
func (s *Server) Fail(verb Verb, how Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		c.failures[verb] = append(c.failures[verb], how)
	}
	s.changed.Broadcast()
}

// Forgive drops the planned failures of these verbs, all of them without any.
func (s *Server) Forgive(verbs ...Verb) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		if len(verbs) == 0 {
			clear(c.failures)
		}
		for _, verb := range verbs {
			delete(c.failures, verb)
		}
	}
}

// Objects returns the resourceVersions of what is there.
func (s *Server) Objects() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	versions := map[string]string{}
	for key, obj := range s.states[s.revision] {
		versions[key] = obj.ResourceVersion
	}
	return versions
}

// keysLocked are the keys at a revision, in order.
func (s *Server) keysLocked(revision int) []string {
	return slices.Sorted(maps.Keys(s.states[revision]))
}
