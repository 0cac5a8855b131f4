package lens

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Cause is what enqueued a key.
type Cause struct {
	Time time.Time `json:"time"`
	// Informer and Handler name the handler whose call enqueued the key. Both are empty if it was none.
	Informer string `json:"informer,omitempty"`
	Handler  string `json:"handler,omitempty"`
	// Action is add, update, delete, list (an add of the initial list), resync (an update without a new version), retry
	// (after a failure), later (the reconcile asked for it), "the reconcile of …" another key, or "the program".
	Action string `json:"action"`
	// Object is the namespace and name of the object that the handler was called with.
	Object          string `json:"object,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// OwnWriteOf is the key whose reconcile wrote this version of the object.
	OwnWriteOf string `json:"ownWriteOf,omitempty"`
	// Fields are what an own write has changed, without the fields that the server sets.
	Fields []string      `json:"fields,omitempty"`
	Delay  time.Duration `json:"delay,omitempty"`

	uid      types.UID // of the object, if that is known
	writer   id        // whose key is OwnWriteOf
	managers []string  // that wrote this version, as its managedFields say; none if they do not say
}

// isNews reports whether a write may have led to c: not to what a list or a resync tells again.
func (c *Cause) isNews() bool { return c.Action != "resync" && c.Action != "list" }

// mayBeBy reports whether a field manager may have written the version that c is about. The answer to a PATCH that changes
// nothing has the version of whoever wrote last.
func (c *Cause) mayBeBy(manager string) bool {
	return manager == "" || len(c.managers) == 0 || slices.Contains(c.managers, manager)
}

// String says it in a few words: "update of services default/web at 12, its own write".
func (c Cause) String() string {
	text := c.Action
	if c.Object != "" {
		text += fmt.Sprintf(" of %s %s", c.Informer, c.Object)
	}
	if c.ResourceVersion != "" {
		text += " at " + c.ResourceVersion
	}
	if c.OwnWriteOf != "" {
		text += ", written by the reconcile of " + c.OwnWriteOf
	}
	if len(c.Fields) > 0 {
		text += " (" + strings.Join(c.Fields, ", ") + ")"
	}
	if c.Delay > 0 {
		text += fmt.Sprintf(", after %v", c.Delay)
	}
	return text
}

// Write is a request with which a reconcile has written.
type Write struct {
	Verb   string `json:"verb"`   // POST, PUT, PATCH, DELETE
	Path   string `json:"path"`   // of the URL
	Object string `json:"object"` // namespace and name in the answer
	Code   int    `json:"code"`   // of the answer; 0 if there was none
	// ResourceVersion is what the write has left, and at which it comes back as an event.
	ResourceVersion string `json:"resourceVersion,omitempty"`

	uid     types.UID // of the object, if the answer says it
	manager string    // see managerOf
}

// Reconcile is one that has ended.
type Reconcile struct {
	Began   time.Time     `json:"began"`
	Took    time.Duration `json:"took"`
	Causes  []Cause       `json:"causes"` // what enqueued the key since the reconcile before
	Outcome string        `json:"outcome"`
	Writes  []Write       `json:"writes,omitempty"`
}

// Key is what is known of one key.
type Key struct {
	Controller string      `json:"controller"`
	Key        string      `json:"key"`
	Total      int         `json:"total"`      // reconciles since the lens was switched on
	Reconciles []Reconcile `json:"reconciles"` // the newest, oldest first
	Pending    []Cause     `json:"pending"`    // what enqueued the key since the newest reconcile began
	// Running: the key is being reconciled. RunsBecause is what enqueued it.
	Running     bool    `json:"running"`
	RunsBecause []Cause `json:"runsBecause,omitempty"`
	// WakesItself: the last reconciles had no other causes than this key's own writes, three of which changed the same, and
	// the last one wrote again. Or it did not, and was the eighth in such a row. So a key that is set up in several passes is
	// none. Flapping are the fields that three of these writes changed.
	WakesItself bool     `json:"wakesItself"`
	Flapping    []string `json:"flapping,omitempty"`
	// Stuck: the last reconcile failed, and there were at least three of them in a row.
	Stuck bool `json:"stuck"`
	// Due is when the key will be enqueued, if that is later, and visible. Until then it may be enqueued by others.
	Due time.Time `json:"due,omitzero"`
	// Retries is how often the rate limiter has put the key off, since it was last told to forget the key. -1 is not
	// visible.
	Retries int `json:"retries"`

	item any // what the queue knows it by
}

// story is what a lens keeps of a key.
type story struct {
	id         id
	item       any // the key as the queue has it
	total      int
	reconciles []*reconcile // that have ended, oldest first
	pending    []enqueueing // since the newest reconcile began; at most one of them is for later: see enqueueLocked
	current    *reconcile   // the one that runs, or nil
}

// reconcile is a Reconcile whose Causes may yet turn out to be own writes.
type reconcile struct {
	Reconcile
	enqueueings []enqueueing
	goroutine   int64 // the worker's
	hasChanged  bool  // something, by a write
}

type enqueueing struct {
	cause *Cause
	delay time.Duration
	due   time.Time
}

// enqueueLocked adds to what is pending. Of several that are not due yet the one that is due first counts, as in the queue.
// The oldest of the others makes room: as long as a key is delayed, the page says until when.
func (s *story) enqueueLocked(e enqueueing, most int) {
	now := time.Now()
	later := slices.IndexFunc(s.pending, func(e enqueueing) bool { return e.due.After(now) })
	if later >= 0 && e.due.After(now) {
		if e.due.Before(s.pending[later].due) {
			s.pending[later] = e
		}
		return
	}
	s.pending = append(s.pending, e)
	if len(s.pending) > most {
		oldest := slices.IndexFunc(s.pending, func(e enqueueing) bool { return !e.due.After(now) })
		s.pending = slices.Delete(s.pending, oldest, oldest+1)
	}
}

// takeLocked takes what is due from what is pending.
func (s *story) takeLocked() (due []enqueueing) {
	now := time.Now()
	later := []enqueueing{}
	for _, e := range s.pending {
		if e.due.After(now) {
			later = append(later, e)
		} else {
			due = append(due, e)
		}
	}
	s.pending = later
	return due
}

// causesOf copies causes out. Fields are told of own writes only.
func causesOf(all []enqueueing) []Cause {
	causes := make([]Cause, len(all))
	for i, e := range all {
		causes[i] = *e.cause
		causes[i].Delay = e.delay
		if e.cause.OwnWriteOf == "" {
			causes[i].Fields = nil
		}
	}
	return causes
}

// snapshotLocked copies a story out.
func (s *story) snapshotLocked() Key {
	k := Key{
		Controller: s.id.controller, Key: s.id.key, Total: s.total, Running: s.current != nil,
		Reconciles: []Reconcile{}, Pending: causesOf(s.pending), Due: s.due(), Retries: -1, item: s.item,
	}
	if k.Running {
		k.RunsBecause = causesOf(s.current.enqueueings)
	}
	for _, r := range s.reconciles {
		out := r.Reconcile
		out.Causes = causesOf(r.enqueueings)
		out.Writes = slices.Clone(r.Writes)
		k.Reconciles = append(k.Reconciles, out)
	}
	if len(k.Reconciles) < inARow {
		return k
	}
	last := k.Reconciles[len(k.Reconciles)-inARow:]
	k.Stuck = !slices.ContainsFunc(last, func(r Reconcile) bool { return !strings.HasPrefix(r.Outcome, failed) })
	k.WakesItself, k.Flapping = s.wakesItself(k.Reconciles)
	return k
}

// due returns when the key is due that is pending for later, or zero.
func (s *story) due() time.Time {
	for _, e := range s.pending {
		if e.due.After(time.Now()) {
			return e.due
		}
	}
	return time.Time{}
}

// failed begins the outcome of a reconcile that is tried again.
const failed = "failed"

// Why says in a line, for a log, why a key was reconciled last, and what came of it. key is namespace/name.
func (l *Lens) Why(key string) string {
	if !l.IsOn() {
		return key + ": the lens is off"
	}
	key = strings.TrimPrefix(key, "/") // of a NamespacedName of cluster scope
	lines := []string{}
	for _, k := range l.keysThat(func(name id) bool { return name.key == key }) {
		lines = append(lines, k.why())
	}
	if len(lines) == 0 {
		return key + ": nothing is known of it"
	}
	return strings.Join(lines, "; ")
}

// count says how many there are of something: "1 change", "2 changes".
func count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

func (k Key) why() string {
	text := fmt.Sprintf("%s: %s reconciled it %s", k.Key, k.Controller, count(k.Total, "time"))
	if len(k.Reconciles) > 0 {
		last := k.Reconciles[len(k.Reconciles)-1]
		text += fmt.Sprintf(", last because of %s; it ended after %v: %s, with %s",
			causesText(last.Causes), last.Took.Round(time.Microsecond), last.Outcome, count(len(last.Writes), "write"))
	}
	if k.WakesItself {
		text += "; it wakes itself by writing " + cmp.Or(strings.Join(k.Flapping, ", "), "objects")
	}
	if k.Running {
		text += "; it is being reconciled because of " + causesText(k.RunsBecause)
	}
	if len(k.Pending) > 0 {
		text += "; it waits because of " + causesText(k.Pending)
	}
	return text
}

func causesText(causes []Cause) string {
	if len(causes) == 0 {
		return "something that the lens has not seen, or has forgotten"
	}
	texts := make([]string, len(causes))
	for i, c := range causes {
		texts[i] = c.String()
	}
	return strings.Join(texts, " and ")
}

// Keys returns what is known of all keys, those that were active last first. It asks the queues with no lock held.
func (l *Lens) Keys() []Key {
	keys := l.keysThat(func(id) bool { return true })
	fillIn(keys, l.lookAtQueues())
	return keys
}

func (l *Lens) keysThat(are func(id) bool) []Key {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := []Key{}
	for at := l.recent.Front(); at != nil; at = at.Next() {
		if s := at.Value.(*story); are(s.id) {
			keys = append(keys, s.snapshotLocked())
		}
	}
	return keys
}
