package controllertest

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// instance is the program between two crashes.
type instance struct {
	*world
	ctx    context.Context
	cancel context.CancelFunc
	cfg    *rest.Config
	shut   func() // breaks its connections
	stale  int64  // until fresh, lists at "any version" show this revision; 0 is the newest
	fresh  time.Time

	// Protected by world.mu.
	dead     bool // nothing that it still sends reaches the server, and it sees nothing any more
	replaced bool // another replica has taken over
	sentAway bool // it has ended because it was sent away, which is no reason for a back-off
	overdue  bool // it is known that it does not end in time
}

// supervise runs the program as a kubelet does: one that ended is started again, after a back-off.
func (w *world) supervise() {
	w.programs.Go(func() {
		var backoff restarts
		for {
			began := time.Now()
			again := w.runOnce()
			if !again {
				return
			}
			if w.wasSentAway() {
				continue
			}
			delay := backoff.next(time.Since(began))
			w.awaitRestart(delay)
			select {
			case <-time.After(delay):
			case <-w.ctx.Done():
			}
		}
	})
}

// runOnce runs the program until it ends, and reports whether it is to be started again.
func (w *world) runOnce() bool {
	i := w.start()
	if i == nil {
		return false
	}
	stopped := make(chan time.Time, 1)
	context.AfterFunc(i.ctx, func() { stopped <- time.Now() })
	err := <-protected(func() error { return w.scenario.Start(i.ctx, i.cfg) })
	byItself := i.ctx.Err() == nil
	i.crash()
	late := time.Since(<-stopped)

	w.mu.Lock()
	defer w.mu.Unlock()
	if byItself {
		w.exits++
	}
	switch {
	case errors.Is(err, errNoReturn):
		w.foundLocked(Runs, "Start %v", err)
	case byItself && len(w.plan) == 0:
		w.foundLocked(Runs, "Start returned before its context ended, and without a fault: %v", err)
	case late > patienceAtTheEnd && !i.overdue:
		w.foundLocked(Stops, "Start returned %v after its context had ended", late)
	}
	if err == nil {
		w.noteLocked("", "%s has ended", i.whoLocked())
	} else {
		w.noteLocked("", "%s has ended: %.200v", i.whoLocked(), err)
	}
	return !w.ending && !i.replaced && w.ctx.Err() == nil
}

// whoLocked is what a story calls this instance.
func (i *instance) whoLocked() string {
	if i.replaced {
		return "the old replica"
	}
	return "the program"
}

func (w *world) wasSentAway() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current.sentAway
}

// start returns the next instance, or nil if the play ends. It waits while the program is sent away.
func (w *world) start() *instance {
	i := &instance{world: w}
	i.ctx, i.cancel = context.WithCancel(w.ctx)
	i.cfg, i.shut = w.open(i.answer)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.awaitBackLocked()
	if w.ending {
		i.cancel()
		i.shut()
		return nil
	}
	i.stale, i.fresh = w.stale, time.Now().Add(missing)
	w.stale = 0
	who := "the program"
	if w.current != nil && w.current.replaced {
		who = "another replica"
	}
	w.current = i
	w.noteLocked("", "%s starts", who)
	return i
}

// die: from now on nothing of this instance reaches the server, and it sees nothing.
func (i *instance) die() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.dead = true
}

// crash ends this instance.
func (i *instance) crash() {
	i.die()
	i.cancel()
	i.shut()
}

// isCutOff tells whether a request gets no answer.
func (i *instance) isCutOff(req request) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.dead, i.away["*"] > 0:
		return true
	case req.isWrite():
		return i.replaced
	}
	return i.away[req.resource] > 0 && (req.verb == "list" || req.verb == "watch")
}

// stop ends the program, and finds fault with one that stays.
func (w *world) stop() {
	w.mu.Lock()
	w.ending = true
	if w.back != nil { // a step has failed while the program was away
		w.letBackLocked()
	}
	current := w.current
	w.mu.Unlock()
	current.cancel()
	if ends(&w.programs) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	current.overdue = true
	w.foundLocked(Stops, "Start does not return within five minutes after its context has ended")
}

// answer answers the program.
func (i *instance) answer(to http.ResponseWriter, r *http.Request) {
	body := read(r)
	if isLease(r) {
		i.answerLease(to, r, body)
		return
	}
	i.answerAs(i.name(program, r, body), to, r)
}

func (i *instance) answerAs(req request, to http.ResponseWriter, r *http.Request) {
	switch {
	case !req.isWrite() && i.isCutOff(req):
		time.Sleep(inVain)
		panic(http.ErrAbortHandler)
	case req.verb == "list":
		i.list(i.noteReading(to, req, r), r)
	case req.verb == "watch":
		i.watch(req, to, r)
	default:
		i.handle(i, req, to, r)
	}
}

func (i *instance) isStale() bool { return i.stale > 0 && time.Now().Before(i.fresh) }

// list shows an old state where a server may: to those who ask for any version.
func (i *instance) list(to http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if i.isStale() && query.Get("resourceVersion") == "0" {
		query.Set("resourceVersion", strconv.FormatInt(i.stale, 10))
		query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
		query.Del("limit")
		r = r.Clone(r.Context())
		r.URL.RawQuery = query.Encode()
	}
	i.api.ServeHTTP(to, r)
}

func (i *instance) watch(req request, to http.ResponseWriter, r *http.Request) {
	if i.isStale() && r.URL.Query().Get("sendInitialEvents") == "true" {
		// A streaming list is never old. A server that lags would wait; this one has none, so that programs list.
		(&hit{world: i.world, request: req, answer: to}).refuse(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, 0)
		return
	}
	ctx, end := context.WithCancel(r.Context())
	defer end()
	me := &watching{resource: req.resource, end: end}
	i.mu.Lock()
	i.watched[req.resource] = true
	i.watches[me] = struct{}{}
	i.mu.Unlock()
	defer func() {
		i.mu.Lock()
		delete(i.watches, me)
		i.mu.Unlock()
	}()
	i.api.ServeHTTP(&stream{ResponseWriter: i.noteReading(to, req, r), instance: i, resource: req.resource, ctx: ctx}, r.WithContext(ctx))
}

// stream is a watch that can be held back. The server writes each event at once, in one piece.
type stream struct {
	http.ResponseWriter
	*instance
	resource string
	ctx      context.Context
}

func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *stream) Write(event []byte) (int, error) {
	came := entry{resource: s.resource, event: bytes.Clone(event), isSent: true}
	s.mu.Lock()
	held, dead := s.held[s.resource], s.dead
	if !dead {
		s.addLocked(came)
	}
	s.mu.Unlock()
	if dead {
		return 0, http.ErrAbortHandler
	}
	if held != nil {
		select {
		case <-held.flows:
		case <-s.ctx.Done():
			return 0, s.ctx.Err()
		}
	}
	came.isSent = false
	s.mu.Lock()
	came.seenBy = s.whoLocked()
	s.addLocked(came)
	s.mu.Unlock()
	return s.ResponseWriter.Write(event)
}

// holding is what keeps back the watches of a resource: one fault or more.
type holding struct {
	flows chan struct{} // closed when there is none left
	holds int
}

// hold keeps back what watches of a resource would see. After that time, or with releaseLong, they see all of it.
func (w *world) hold(resource string, d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held[resource] == nil {
		w.held[resource] = &holding{flows: make(chan struct{})}
	}
	w.held[resource].holds++
	if d == untilSettled {
		w.long = append(w.long, resource)
	} else {
		time.AfterFunc(d, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.releaseLocked(resource)
		})
	}
}

// releaseLong lets all watches flow that are held until the rest has settled. It reports whether there were any.
func (w *world) releaseLong() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	long := w.long
	w.long = nil
	for _, resource := range long {
		w.releaseLocked(resource)
	}
	return len(long) > 0
}

func (w *world) releaseLocked(resource string) {
	held := w.held[resource]
	held.holds--
	if held.holds == 0 {
		close(held.flows)
		delete(w.held, resource)
		w.noteLocked("", "the watch of %s flows again", resource)
	}
}

// cut breaks the watches of a resource. When they may come back, the server remembers no history: only a list tells.
func (w *world) cut(resource string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away[resource]++
	w.endWatchesLocked(resource)
	time.AfterFunc(missing, func() {
		w.server.Faults().Compact()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.away[resource]--
	})
}

func (w *world) endWatchesLocked(resource string) {
	for watch := range w.watches {
		if resource == "*" || watch.resource == resource {
			watch.end()
		}
	}
}

// handOver lets another replica take over while a write of the old one is still on its way.
func (h *hit) handOver() {
	h.mu.Lock()
	h.from.replaced = true
	h.mu.Unlock()
	h.from.cancel()
	h.supervise()
	time.Sleep(onWay)
	h.commit(nowhere())
	h.breakOff()
}

// staleStart lets the program begin again with a state that lacks this write.
func (h *hit) staleStart() {
	before := h.server.Revision()
	h.commit(h.answer)
	h.mu.Lock()
	h.stale = before
	current := h.current
	h.mu.Unlock()
	for _, resource := range h.everWatched() {
		h.hold(resource, missing)
	}
	current.crash()
}

func (w *world) everWatched() (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for resource := range w.watched {
		all = append(all, resource)
	}
	return all
}

// outage takes the server away from the program.
func (h *hit) outage() {
	h.mu.Lock()
	h.away["*"]++
	h.endWatchesLocked("*")
	h.mu.Unlock()
	time.AfterFunc(outage, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.away["*"]--
	})
	if h.from != nil {
		h.breakOff()
	}
	h.commit(h.answer)
}
