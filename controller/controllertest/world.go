package controllertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
)

// world is the API server of one play, with a door for the program and one for all others. All that comes in is named and noted.
type world struct {
	scenario *Scenario
	plan     []planned
	limit    int // of writes that change something; of the program's attempts ten times as many
	server   *apiserver.Server
	ctx      context.Context // of all programs
	cancel   context.CancelFunc
	began    time.Time
	bubble   string // its number, as the heads of stacks have it

	handlers sync.WaitGroup // of requests, servers and others at work
	programs sync.WaitGroup // the loops that run the program

	// committing holds a token during a write and the question of Always after it, so that it is known which write led to which state.
	// It is a channel, since goroutines that wait for a mutex stop virtual time.
	committing chan struct{}
	viewer     viewer // protected by committing

	mu        sync.Mutex     // protects what follows
	doors     []func()       // each breaks the connections of one
	counts    map[string]int // by a request's words
	generated names
	watched   map[string]bool // resources that the program has watched
	watches   map[*watching]struct{}
	held      map[string]*holding // by resource
	long      []string            // resources that are held until the rest has settled
	away      map[string]int      // resources whose lists and watches fail, by how many faults; "*" is all requests
	current   *instance
	stale     int64     // the revision that the next instance's first lists show, or 0
	calm      time.Time // when all faults are over
	fired     int
	attempts  int // the program's writes, whatever came of them
	effective int // writes that changed something
	writes    []written
	log       []entry
	problems  []problem
	ending    bool
}

// written is a write that the server has answered.
type written struct {
	request request
	code    int
	changed bool
}

// watching is a running watch of the program.
type watching struct {
	resource string
	end      context.CancelFunc
}

type problem struct {
	oracle Oracle
	text   string
}

func newWorld(s *Scenario, plan []planned, limit int) *world {
	server := apiserver.New(apiserver.Options{BookmarkInterval: 5 * time.Minute}) // every minute would be most of the work
	ctx, cancel := context.WithCancel(context.Background())
	return &world{
		scenario: s, plan: plan, limit: limit, server: server, ctx: ctx, cancel: cancel, began: time.Now(), bubble: thisBubble(),
		committing: make(chan struct{}, 1), viewer: viewer{server: server},
		counts: map[string]int{}, generated: names{stands: map[string]string{}}, watched: map[string]bool{}, watches: map[*watching]struct{}{},
		held: map[string]*holding{}, away: map[string]int{},
	}
}

// open lets handler answer what comes by a new config. shut breaks all its connections.
func (w *world) open(handler http.HandlerFunc) (cfg *rest.Config, shut func()) {
	l := apiserver.NewPipeListener()
	server := &http.Server{Handler: http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		w.handlers.Add(1)
		defer w.handlers.Done()
		handler(answer, r)
	})}
	w.handlers.Go(func() { _ = server.Serve(l) })
	cfg = apiserver.RESTConfigFor(l)
	dial := cfg.Dial
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			time.Sleep(inVain)
		}
		return conn, err
	}
	shut = func() { _ = server.Close(); _ = l.Close() }
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doors = append(w.doors, shut)
	return cfg, shut
}

// inVain is how long a request takes that gets no answer. So a program that tries again without a pause takes virtual time.
const inVain = 100 * time.Millisecond

// close ends everything but what does not end with its context.
func (w *world) close() {
	w.cancel()
	w.mu.Lock()
	doors := w.doors
	w.mu.Unlock()
	for _, shut := range doors {
		shut()
	}
	if !ends(&w.handlers) {
		w.found(Runs, "somebody of the World does not return within %v after its context has ended", patienceAtTheEnd)
	}
	time.Sleep(time.Second) // for goroutines that are about to end
}

// patienceAtTheEnd is how long a program has to return when its context has ended.
const patienceAtTheEnd = 5 * time.Minute

// ends waits for patienceAtTheEnd, and reports whether all have ended.
func ends(all *sync.WaitGroup) bool {
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	select {
	case <-ended:
		return true
	case <-time.After(patienceAtTheEnd):
		return false
	}
}

func (w *world) found(oracle Oracle, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.foundLocked(oracle, format, args...)
}

// enough is how many problems of a play are kept: the first ones tell most.
const enough = 20

func (w *world) foundLocked(oracle Oracle, format string, args ...any) {
	if w.scenario.asks(oracle) && len(w.problems) < enough {
		w.problems = append(w.problems, problem{oracle, fmt.Sprintf(format, args...)})
	}
}

func (w *world) view() View {
	w.committing <- struct{}{}
	defer func() { <-w.committing }()
	return w.viewer.view()
}

// settle waits until nobody has written anything new for quiet, and all faults are over. A program that may write for ever has settled after
// five minutes.
func (w *world) settle(quiet time.Duration) {
	patience := 10 * time.Hour
	if !w.scenario.asks(Settles) {
		patience = 5 * time.Minute
	}
	for began := time.Now(); ; {
		before := w.changes()
		time.Sleep(quiet)
		synctest.Wait()
		tired := time.Since(began) > patience
		if tired && w.scenario.asks(Settles) {
			w.found(Settles, "somebody still writes after %v (if it does so on a timer: Without StaysQuiet). The last writes are\n%s",
				patience, w.lastWrites(10))
			return
		}
		if tired || w.changes() == before {
			released := w.releaseLong() // then what comes of it is waited for
			if !released && w.isCalm() {
				return
			}
		}
	}
}

// settleAtLast waits longer than the back-off of most queues. If the program writes on a timer, nobody can wait for that long a silence.
func (w *world) settleAtLast() {
	const backoff = 20 * time.Minute
	if w.scenario.asks(StaysQuiet) {
		w.settle(backoff)
		return
	}
	time.Sleep(backoff)
	w.settle(w.scenario.Quiet)
}

// made returns the names that the server made, and what stands for them.
func (w *world) made() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.generated.stands)
}

// tried is how many writes the program has tried.
func (w *world) tried() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.attempts
}

// changes is how many requests have changed something.
func (w *world) changes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.effective
}

func (w *world) isCalm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !time.Now().Before(w.calm)
}

func (w *world) lastWrites(n int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lastWritesLocked(n)
}

func (w *world) lastWritesLocked(n int) string {
	var lines []string
	for _, write := range w.writes[max(0, len(w.writes)-n):] {
		lines = append(lines, fmt.Sprintf("    %s: %d", write.request, write.code))
	}
	return strings.Join(lines, "\n")
}

// fromOthers answers everybody but the program.
func (w *world) fromOthers(answer http.ResponseWriter, r *http.Request) {
	body := read(r)
	w.handle(nil, w.name(others, r, body), answer, r)
}

// read takes the whole body, so that a request can be handled after its connection broke.
func read(r *http.Request) []byte {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the sender is gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// name names a request, and counts it.
func (w *world) name(who string, r *http.Request, body []byte) request {
	req := parse(who, r, body)
	w.mu.Lock()
	defer w.mu.Unlock()
	req.object = w.generated.replace(req.object)
	if req.isWrite() {
		w.counts[req.words()]++
		req.nth = w.counts[req.words()]
		if who == program {
			w.attempts++
		}
	}
	return req
}

// handle answers a write with the fault that is planned for it, and everything else as it is.
func (w *world) handle(from *instance, req request, answer http.ResponseWriter, r *http.Request) {
	if !req.isWrite() {
		w.server.Handler().ServeHTTP(answer, r)
		return
	}
	time.Sleep(time.Millisecond) // writes that nothing orders come in the order of virtual time, not in the scheduler's
	h := &hit{world: w, request: req, from: from, answer: answer,
		commit: func(to http.ResponseWriter) { w.commit(req, to, r.WithContext(context.WithoutCancel(r.Context()))) }}
	if from != nil && from.isCutOff(req) {
		time.Sleep(inVain)
		h.breakOff()
	}
	fault := w.due(req)
	if fault == "" {
		h.commit(answer)
		return
	}
	w.note(req.object, "*** %s: %s", fault, req)
	behaviours[fault].do(h)
}

// due returns the fault that is planned for a request, and begins it.
func (w *world) due(req request) Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current == nil {
		return ""
	}
	for i, p := range w.plan {
		if p.at == req {
			w.plan[i].at = request{}
			w.fired++
			if over := time.Now().Add(2*behaviours[p.fault].lasts + time.Minute); over.After(w.calm) {
				w.calm = over
			}
			return p.fault
		}
	}
	return ""
}

// commit lets the server handle a write, and asks Always about what came of it.
func (w *world) commit(req request, answer http.ResponseWriter, r *http.Request) {
	seen := &observed{ResponseWriter: answer, code: http.StatusOK, keep: strings.HasSuffix(req.object, "*")}
	w.committing <- struct{}{}
	defer func() { <-w.committing }()
	before := w.server.Revision()
	w.server.Handler().ServeHTTP(seen, r)
	changed := seen.code < 300 && w.server.Revision() != before
	w.record(req, seen, changed)
	if always := w.scenario.Always; changed && always != nil {
		err := <-protected(func() error { return always(w.viewer.view()) })
		if err != nil {
			w.found(Invariant, "after %s: %v", req, err)
		}
	}
}

func (w *world) record(req request, seen *observed, changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if seen.keep && seen.code < 300 {
		w.generated.learn(metaOf(seen.body.Bytes()).Name, path.Base(req.object))
	}
	if changed {
		w.effective++
	}
	if w.current != nil { // no fault is possible before the program runs
		w.writes = append(w.writes, written{req, seen.code, changed})
	}
	w.noteLocked(req.object, "%s: %s", req, result(seen.code, changed, w.server.Revision()))
	tooMany := w.effective > w.limit || w.attempts > 10*w.limit
	if tooMany && !w.ending && w.current != nil && w.scenario.asks(Settles) {
		w.foundLocked(Settles, "%d writes have changed something, and the program has tried %d: it is stopped. The last ones are\n%s",
			w.effective, w.attempts, w.lastWritesLocked(10))
		w.ending = true
		w.current.dead = true
		w.current.cancel()
	}
}

func result(code int, changed bool, revision int64) string {
	switch {
	case code >= 300:
		return fmt.Sprint(code, " ", http.StatusText(code))
	case !changed:
		return "changes nothing"
	}
	return fmt.Sprint("version ", revision)
}

// observed remembers what was answered.
type observed struct {
	http.ResponseWriter
	code int
	keep bool
	body bytes.Buffer
}

func (o *observed) WriteHeader(code int) { o.code = code; o.ResponseWriter.WriteHeader(code) }

func (o *observed) Write(p []byte) (int, error) {
	if o.keep {
		o.body.Write(p)
	}
	return o.ResponseWriter.Write(p)
}

func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// nowhere takes an answer that nobody will get.
func nowhere() http.ResponseWriter { return &lost{header: http.Header{}} }

type lost struct{ header http.Header }

func (l *lost) Header() http.Header         { return l.header }
func (l *lost) Write(p []byte) (int, error) { return len(p), nil }
func (l *lost) WriteHeader(int)             {}

// breakOff ends a request without an answer.
func (h *hit) breakOff() { panic(http.ErrAbortHandler) }

func (h *hit) refuse(code int, reason metav1.StatusReason, retryAfter int) {
	h.note(h.request.object, "%s: %d %s", h.request, code, http.StatusText(code))
	h.answer.Header().Set("Content-Type", "application/json")
	if retryAfter > 0 {
		h.answer.Header().Set("Retry-After", fmt.Sprint(retryAfter))
	}
	h.answer.WriteHeader(code)
	_ = json.NewEncoder(h.answer).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason,
		Message: "a fault of the test", Details: &metav1.StatusDetails{RetryAfterSeconds: int32(retryAfter)},
	})
}
