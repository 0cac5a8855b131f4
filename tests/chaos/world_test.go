package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/sharedinformer"
	"glasswatch/tests/chaos/proxy"
)

// world is one schedule's: a server, a proxy before it, an informer behind the proxy, and handlers.
type world struct {
	t     *testing.T
	s     schedule
	all   *tally
	began time.Time

	server *apiserver.Server     // nil if it is a real one
	scope  string                // the namespace that takes the place of all others; "" is none
	direct *kubernetes.Clientset // past the proxy
	proxy  *proxy.Proxy
	config *rest.Config // through the proxy
	stop   []func()     // in reverse order

	backup   apiserver.Backup
	restores atomic.Int64
	writes   int
	calm     chan struct{}
	disk     disk

	settled  func()        // returns when all is done that can be without time going by
	patience time.Duration // how long it may take until all is well again
	pace     time.Duration // what waits and pauses are divided by

	run    *running
	served int // handlers that were ever added

	mu    sync.Mutex // protects story
	story []string
}

// running is an informer that runs.
type running struct {
	informer
	cancel   context.CancelFunc
	done     chan struct{}
	handlers []handler
	since    int64 // restores before it
}

type handler struct {
	*recorder
	registration
}

// newWorld is a world of our own API server, in a bubble.
func newWorld(t *testing.T, s schedule, all *tally) *world {
	w := &world{t: t, s: s, all: all, began: time.Now(), calm: make(chan struct{}), settled: synctest.Wait}
	w.patience, w.pace = patience, 1
	server := apiservertest.Start(t, apiserver.Options{BookmarkInterval: 7 * time.Second})
	w.server, w.stop = server.Server, []func(){server.Stop}
	transport := &http.Transport{DialContext: server.Config.Dial, DisableCompression: true}
	w.backup = w.server.Faults().Backup()
	between := apiserver.NewPipeListener()
	w.connect(server.Config.Host, transport, between, between.DialContext)
	return w
}

// connect puts a proxy on a listener before the server that transport leads to. dial leads to the listener.
func (w *world) connect(host string, transport http.RoundTripper, listener net.Listener, dial dialer) {
	w.disk = newDisk(w.t)
	client := &http.Client{Transport: transport}
	w.stop = append(w.stop, client.CloseIdleConnections)
	w.direct = kubernetes.NewForConfigOrDie(&rest.Config{Host: host, QPS: -1, Transport: transport})
	target, err := url.Parse(host)
	if err != nil {
		w.t.Fatal(err)
	}
	opts := proxy.Options{
		Target: target, Upstream: transport,
		Fired: func(k proxy.Kind) {
			w.tell("fired: %s", k)
			w.all.fire(kind(k))
		},
		Trace: func(line string) { w.tell("request: %s", line) },
	}
	if w.server != nil {
		opts.Version = w.server.Revision
	}
	w.proxy = proxy.New(opts)
	server := &http.Server{Handler: w.proxy, ErrorLog: silent}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	through := &http.Transport{DialContext: dial}
	w.stop = append(w.stop, func() {
		through.CloseIdleConnections()
		_ = server.Close()
		<-done
	})
	w.config = &rest.Config{Host: "http://" + listener.Addr().String(), QPS: -1, Transport: through}
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// tell notes what happens when, for who has to find out why it failed.
func (w *world) tell(format string, args ...any) {
	line := fmt.Sprintf("%10.3f  %s", time.Since(w.began).Seconds(), fmt.Sprintf(format, args...))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.story = append(w.story, line)
}

// told is the end of the story, or all of it.
func (w *world) told() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	const tail = 60
	story := w.story
	if *onlySeed == 0 && len(story) > tail {
		story = story[len(story)-tail:]
	}
	return strings.Join(story, "\n")
}

// failed is told of what the informer has met.
func (w *world) failed(_ context.Context, err error) { w.tell("informer: %v", err) }

// play does what the schedule says, and then wants everything to be well.
func (w *world) play() error {
	err := w.start()
	for i, st := range w.s.steps {
		if err != nil {
			break
		}
		w.tell("step %d: %s", i, st)
		if err = w.do(st); err != nil {
			err = fmt.Errorf("step %d, %s: %w", i, st, err)
		}
		if st.settle {
			w.settled()
		}
	}
	if err == nil {
		w.tell("no more faults")
		err = w.finish()
	}
	w.calmDown()
	w.halt()
	for i := len(w.stop) - 1; i >= 0; i-- {
		w.stop[i]()
	}
	err = errors.Join(err, w.alone())
	if err != nil || w.t.Failed() || *onlySeed != 0 {
		w.t.Log("\n" + w.told())
	}
	return err
}

// start makes an informer and sets it going, with four handlers: a plain one, one that folds, and two of either kind that
// misbehave.
func (w *world) start() error {
	inf, err := newInformer(w)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.run = &running{informer: inf, cancel: cancel, done: make(chan struct{}), since: w.restores.Load()}
	for _, fold := range []bool{false, true, false, true} {
		if err := w.join(fold); err != nil {
			return err
		}
	}
	run := w.run
	go func() {
		defer close(run.done)
		run.Run(ctx)
	}()
	return nil
}

func (w *world) join(fold bool) error {
	w.served++
	r := newRecorder(fmt.Sprintf("%d", w.served), fold, w)
	opts := sharedinformer.HandlerOptions{Name: r.name, Fold: fold}
	reg, err := w.run.Add(r, opts)
	if err == nil {
		w.run.handlers = append(w.run.handlers, handler{r, reg})
	}
	return err
}

// halt stops the informer and looks whether its handlers have ended.
func (w *world) halt() {
	run := w.run
	if run == nil {
		return
	}
	w.run = nil
	run.cancel()
	<-run.done
	w.disk.count(run.Checkpoint(), w.all)
	w.disk.seen = 0
	for _, h := range run.handlers {
		select {
		case <-h.Done():
		default:
			w.t.Errorf("handler %s goes on after the informer", h.name)
		}
		w.complain(h)
	}
	if w.server == nil {
		return // there is no bubble, and others go on; goleak looks when all is over
	}
	w.settled()
	if left := goroutines("glasswatch/sharedinformer", "glasswatch/reflector", "glasswatch/listwatch", "glasswatch/compat"); left != "" {
		w.t.Errorf("the informer has left a goroutine behind:\n%s", left)
	}
}

func (w *world) complain(h handler) {
	for _, wrong := range h.complaints() {
		w.t.Error(wrong)
	}
}
