package controllertest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
)

// world is the API server of one play, with a door for the program and one for all others. All that comes in is named and noted.
type world struct {
	scenario *Scenario
	plan     []planned
	timings  timings
	limit    int // of writes that change something; of the program's attempts ten times as many
	server   *apiserver.Server
	api      http.Handler    // the server's
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
	realNames map[request]string // of objects whose names the server made
	watched   map[string]bool    // resources that the program has watched
	watches   map[*watching]struct{}
	held      map[string]*holding // by resource
	long      []string            // resources that are held until the rest has settled
	away      map[string]int      // resources whose lists and watches fail, by how many faults; "*" is all requests
	clock     time.Duration       // how far the program's clock is ahead of all others
	leases    bool                // the program has asked for Leases
	back      chan struct{}       // closed when the program that was sent away may start again; nil if it was not
	current   *instance
	stale     int64     // the revision that the next instance's first lists show, or 0
	calm      time.Time // when all faults are over, and the restarts after them
	fired     int
	attempts  int                  // the program's writes, whatever came of them
	effective int                  // writes that changed something
	paces     map[string]*pace     // by object
	refused   map[string]*refusals // by a request's words
	acted     time.Time            // when the last step began, but for those that only wait
	exits     int                  // how often the program has ended by itself
	writes    []written
	log       []entry
	problems  []problem
	dropped   int  // problems that were not kept
	stopped   bool // the program has written too much
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
	object string // that it is about, if it is about one
}

func newWorld(s *Scenario, plan []planned, limit int) *world {
	server := apiserver.New(apiserver.Options{PodGrace: true, BookmarkInterval: 5 * time.Minute}) // bookmarks each minute would be most of the work
	ctx, cancel := context.WithCancel(context.Background())
	return &world{
		scenario: s, plan: plan, limit: limit, server: server, api: server.Handler(), ctx: ctx, cancel: cancel, began: time.Now(), bubble: thisBubble(),
		committing: make(chan struct{}, 1), viewer: viewer{server: server},
		counts: map[string]int{}, generated: names{stands: map[string]string{}}, realNames: map[request]string{},
		watched: map[string]bool{}, watches: map[*watching]struct{}{},
		held: map[string]*holding{}, away: map[string]int{}, paces: map[string]*pace{}, refused: map[string]*refusals{},
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
	w.foundAt("", oracle, format, args...)
}

// foundAt is found of a problem with an object, which the story is then about.
func (w *world) foundAt(object string, oracle Oracle, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.foundAtLocked(object, oracle, format, args...)
}

// enough is how many problems of a play are kept: the first ones tell most.
const enough = 20

func (w *world) foundLocked(oracle Oracle, format string, args ...any) {
	w.foundAtLocked("", oracle, format, args...)
}

func (w *world) foundAtLocked(object string, oracle Oracle, format string, args ...any) {
	switch {
	case !w.scenario.asks(oracle), w.stopped && oracle == CleansUp: // nobody cleans up any more
		return
	case len(w.problems) >= enough:
		w.dropped++
		return
	}
	w.problems = append(w.problems, problem{oracle, fmt.Sprintf(format, args...), object})
}

func (w *world) view() View {
	w.committing <- struct{}{}
	defer func() { <-w.committing }()
	return w.viewer.view()
}

// made returns the names that the server made, and what stands for them.
func (w *world) made() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.generated.stands)
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
