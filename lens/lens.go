package lens

import (
	"bytes"
	"cmp"
	"container/list"
	"iter"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Options configure a [Lens]. The zero value is useful.
type Options struct {
	// On: the lens is on from the start.
	On bool
	// Keys is how many keys are remembered, those that were active last; 0 means 4,096.
	Keys int
	// PerKey is how many causes and how many reconciles are remembered of each key; 0 means 16. At least 8 are: a loop that
	// has ended is marked by that many.
	PerKey int
}

// Lens remembers what enqueued keys, and what became of them.
type Lens struct {
	opts Options
	on   atomic.Bool

	mu        sync.Mutex           // protects what follows
	doing     map[int64]doing      // by goroutine
	stories   map[id]*list.Element // of *story
	recent    *list.List           // the stories, those that were active last in front
	writes    map[string]ownWrite  // by the resourceVersion that the write has left
	versions  []string             // the keys of writes, oldest first
	writing   map[string]*inFlight // by what is being written: see targetOf
	informers map[string]*informerState
	queues    map[string]queueState // by controller
}

// id names a story: two controllers may have the same key.
type id struct{ controller, key string }

// doing is what a goroutine is in the middle of.
type doing struct {
	call  *Cause // of a handler; nil if it is in none
	began time.Time
	story *story // of the key that it reconciles; nil if it reconciles none
}

// ownWrite is a write that a reconcile has made.
type ownWrite struct {
	by      id
	object  string
	manager string
}

// inFlight are requests that write to one object, and have no answer yet. Their events may come before their answers.
type inFlight struct {
	requests int
	events   []*Cause // at most maxEvents
}

// maxEvents bounds what is kept while a request has no answer. It is about one object, or about new ones of a namespace.
const maxEvents = 1000

// New returns a lens.
func New(opts Options) *Lens {
	opts.Keys = cmp.Or(max(opts.Keys, 0), 4096)
	opts.PerKey = max(cmp.Or(max(opts.PerKey, 0), 16), aLoop)
	l := &Lens{opts: opts, informers: map[string]*informerState{}, queues: map[string]queueState{}}
	l.forgetLocked()
	l.on.Store(opts.On)
	return l
}

// Switch switches the lens on or off. It begins with nothing when it is switched on.
func (l *Lens) Switch(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if on && !l.on.Load() {
		l.forgetLocked()
	}
	l.on.Store(on)
}

// IsOn reports whether the lens is on.
func (l *Lens) IsOn() bool { return l.on.Load() }

func (l *Lens) forgetLocked() {
	l.doing = map[int64]doing{}
	l.stories, l.recent = map[id]*list.Element{}, list.New()
	l.writes, l.versions, l.writing = map[string]ownWrite{}, nil, map[string]*inFlight{}
	for _, state := range l.informers {
		clear(state.handlers)
		state.lastEvent = time.Time{}
	}
}

// maxGoroutines bounds what is known of goroutines: one that ends in a panic takes no leave.
const maxGoroutines = 10_000

// called notes that a handler is called in this goroutine, and returns which one that is. compare adds to c how the object
// differs from the version before; it is asked with no lock held, if the call may be of an own write.
func (l *Lens) called(c Cause, compare func(c *Cause)) int64 {
	self := goroutine()
	l.calledIn(self, c, compare)
	return self
}

// calledIn is called for a goroutine whose number is known.
func (l *Lens) calledIn(self int64, c Cause, compare func(c *Cause)) {
	c.Time = time.Now()
	if l.mayBeOwn(&c) {
		compare(&c)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resolveLocked(&c)
	for _, target := range []string{c.Object, namespaceOf(c.Object)} {
		f := l.writing[target]
		if f != nil && c.OwnWriteOf == "" && c.isNews() && len(f.events) < maxEvents {
			f.events = append(f.events, &c)
		}
	}
	l.beginLocked(self, doing{call: &c, began: c.Time})
}

// mayBeOwn reports whether a reconcile wrote what c is about, or is writing it.
func (l *Lens) mayBeOwn(c *Cause) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, wrote := l.writes[versionOf(c)]
	return wrote || l.writing[c.Object] != nil
}

// resolveLocked finds the key whose reconcile has led to c.
func (l *Lens) resolveLocked(c *Cause) {
	write, found := l.writes[versionOf(c)]
	if found && write.object == c.Object && c.isNews() && c.mayBeBy(write.manager) {
		c.OwnWriteOf = write.by.key
		c.writer = write.by
	}
}

// versionOf is what a write and its event have in common.
func versionOf(c *Cause) string {
	if c.Action == "delete" {
		return deletionOf(c.uid)
	}
	return c.ResourceVersion
}

// deletionOf takes the place of a resourceVersion: the answer to a DELETE does not say at which version its event comes.
func deletionOf(uid types.UID) string {
	if uid == "" {
		return ""
	}
	return "the deletion of " + string(uid)
}

// namespaceOf returns the namespace of an object, with a slash. It is all that is known of an object that is created.
func namespaceOf(object string) string {
	namespace, _, found := strings.Cut(object, "/")
	if !found {
		return "/"
	}
	return namespace + "/"
}

// beginLocked notes what a goroutine is in from now on.
func (l *Lens) beginLocked(self int64, d doing) {
	if len(l.doing) >= maxGoroutines {
		clear(l.doing)
	}
	l.doing[self] = d
}

// returned notes that the call of a handler has returned, in the goroutine self.
func (l *Lens) returned(self int64, informer, handler string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was, found := l.doing[self]
	if !found || was.call == nil {
		return // it began before the lens was switched on
	}
	delete(l.doing, self)
	if state := l.informers[informer]; state != nil {
		state.note(handler, time.Since(was.began))
	}
}

// enqueued notes that a key is enqueued by this goroutine. how is used if that goroutine is in no call of a handler, and
// in no reconcile of another key.
func (l *Lens) enqueued(controller string, item any, how string, delay time.Duration) {
	self := goroutine()
	key := nameOf(item)
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &Cause{Time: time.Now(), Action: how}
	now := l.doing[self]
	if now.call != nil {
		c = now.call
	}
	if now.story != nil && now.story.id != (id{controller, key}) {
		c.Action = "the reconcile of " + now.story.id.key
	}
	s := l.storyLocked(controller, key)
	s.item = item
	s.enqueueLocked(enqueueing{c, delay, time.Now().Add(delay)}, l.opts.PerKey)
}

// taken notes that this goroutine begins to reconcile a key.
func (l *Lens) taken(controller string, item any) {
	self := goroutine()
	key := nameOf(item)
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.storyLocked(controller, key)
	s.item = item
	s.current = &reconcile{Reconcile: Reconcile{Began: time.Now()}, enqueueings: s.takeLocked(), goroutine: self}
	l.beginLocked(self, doing{story: s})
}

// ended notes how the reconcile of a key that this goroutine is in has ended. The first word about it counts.
func (l *Lens) ended(controller, key, outcome string) {
	self := goroutine()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.doing[self].story
	if s != nil && s.id == (id{controller, key}) && s.current != nil && s.current.Outcome == "" {
		s.current.Outcome = oneLine(outcome)
		s.current.Took = time.Since(s.current.Began)
	}
}

// maxOutcome bounds what is kept of an error, in bytes.
const maxOutcome = 500

// oneLine makes a line of an error's text.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxOutcome {
		return text
	}
	return strings.ToValidUTF8(text[:maxOutcome], "") + " …"
}

// done notes that a worker is done with a key. Unless it was told already, nothing says that the reconcile failed.
func (l *Lens) done(controller, key string) { l.doneWith(controller, key, "ok") }

// doneWith is done with an outcome, which counts unless there was a word about it before.
func (l *Lens) doneWith(controller, key, outcome string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.storyLocked(controller, key)
	if s.current == nil {
		return // it was taken before the lens was switched on
	}
	if s.current.Outcome == "" {
		s.current.Outcome = oneLine(outcome)
		s.current.Took = time.Since(s.current.Began)
	}
	delete(l.doing, s.current.goroutine)
	s.reconciles = append(s.reconciles, s.current)
	if len(s.reconciles) > l.opts.PerKey {
		s.reconciles = s.reconciles[1:]
	}
	s.total++
	s.current = nil
}

// beginWrite notes that this goroutine is about to write, if it reconciles a key.
func (l *Lens) beginWrite(target string) (by id, found bool) {
	self := goroutine()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.doing[self].story
	if s == nil {
		return id{}, false
	}
	if l.writing[target] == nil {
		l.writing[target] = &inFlight{}
	}
	l.writing[target].requests++
	return s.id, true
}

// endWrite notes what a reconcile has written.
func (l *Lens) endWrite(by id, target string, w Write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	version := w.ResourceVersion
	if w.Verb == http.MethodDelete {
		version = deletionOf(w.uid)
	}
	isNew := version != "" && w.Code < 300 && l.rememberLocked(version, ownWrite{by, w.Object, w.manager})
	s := l.storyLocked(by.controller, by.key)
	if s.current != nil {
		s.current.hasChanged = s.current.hasChanged || isNew
		if len(s.current.Writes) < l.opts.PerKey {
			s.current.Writes = append(s.current.Writes, w)
		}
	}
	f := l.writing[target]
	if f == nil {
		return // the lens was switched off and on meanwhile
	}
	for _, c := range f.events {
		l.resolveLocked(c)
	}
	f.requests--
	if f.requests == 0 {
		delete(l.writing, target)
	}
}

// rememberLocked remembers at which version a write comes back. The oldest write is forgotten for it. A version that is
// known already is that of the write before: this one changed nothing.
func (l *Lens) rememberLocked(version string, w ownWrite) (isNew bool) {
	_, known := l.writes[version]
	if known {
		return false
	}
	l.writes[version] = w
	l.versions = append(l.versions, version)
	if len(l.versions) > l.opts.Keys {
		delete(l.writes, l.versions[0])
		l.versions = l.versions[1:]
	}
	return true
}

// storyLocked returns the story of a key, and makes it the most recent one.
func (l *Lens) storyLocked(controller, key string) *story {
	name := id{controller, key}
	if at, found := l.stories[name]; found {
		l.recent.MoveToFront(at)
		return at.Value.(*story)
	}
	if l.recent.Len() >= l.opts.Keys {
		oldest := l.recent.Back()
		l.recent.Remove(oldest)
		delete(l.stories, oldest.Value.(*story).id)
	}
	s := &story{id: name}
	l.stories[name] = l.recent.PushFront(s)
	return s
}

// goroutine returns the number of this goroutine: the only thing that a handler's call and the keys that are enqueued in
// it have in common. A stack trace has it, but takes up to 20 microseconds, by the depth of the stack. So a coroutine is
// asked, whose stack is new: its trace ends with the goroutine that created it.
func goroutine() int64 {
	next, stop := iter.Pull(creator)
	defer stop()
	n, _ := next()
	if n == 0 {
		return goroutineByStack()
	}
	return n
}

var traces = sync.Pool{New: func() any { return new([1024]byte) }}

// creator yields the number of the goroutine that has created this coroutine, or 0 if the trace does not end with it.
func creator(yield func(int64) bool) {
	buf := traces.Get().(*[1024]byte)
	text := buf[:runtime.Stack(buf[:], false)]
	n := int64(0)
	if at := bytes.LastIndex(text, []byte(" in goroutine ")); at >= 0 {
		n = leadingNumber(text[at+len(" in goroutine "):])
	}
	traces.Put(buf)
	yield(n)
}

func goroutineByStack() int64 {
	var buf [64]byte
	text := buf[:runtime.Stack(buf[:], false)]
	return leadingNumber(bytes.TrimPrefix(text, []byte("goroutine ")))
}

func leadingNumber(text []byte) int64 {
	n := int64(0)
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int64(c-'0')
	}
	return n
}
