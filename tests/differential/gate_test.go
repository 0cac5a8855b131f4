package differential

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// The kinds of requests.
const (
	list   = "list"   // the first page of a list
	page   = "page"   // another one
	stream = "stream" // a streaming list
	plain  = "watch"  // a watch without initial events
)

// failure is what becomes of one request: a status code, or one of these. The last three begin a watch first.
type failure string

const (
	refused     failure = "refused" // no client receives
	tooLarge    failure = "toolarge"
	short       failure = "short" // ends at once; is not held
	expiredLate failure = "event-410"
	tooManyLate failure = "event-429"
)

var configMaps = schema.GroupResource{Resource: "configmaps"}

func (f failure) err() error {
	switch f {
	case "403":
		return apierrors.NewForbidden(configMaps, "", errors.New("planned"))
	case "410", expiredLate:
		return apierrors.NewResourceExpired("planned")
	case "429", tooManyLate:
		return apierrors.NewTooManyRequestsError("planned")
	case "500":
		return apierrors.NewInternalError(errors.New("planned"))
	case "503":
		return apierrors.NewServiceUnavailable("planned")
	case tooLarge:
		err := apierrors.NewTimeoutError("Too large resource version: planned", 0)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
		return err
	case refused:
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	return nil
}

// gate is one informer's way to the server. While requests are held they wait here, so that several informers can go on at the same
// moment, although their backoffs are random. Its List and Watch are what client-go's cache.ListWatch and our listwatch.Funcs ask for.
type gate struct {
	server *server

	// Protected by the server's mutex.
	permits  int
	waiting  int       // requests
	since    time.Time // when the last of them came
	listed   time.Time // when a list was complete
	planned  map[string][]failure
	watches  []*openWatch
	requests []string // for people to read
}

// pass waits until the request may go on, and returns what was planned for it.
func (g *gate) pass(ctx context.Context, verb string, opts *metav1.ListOptions) (failure, error) {
	s := g.server
	s.mu.Lock()
	defer s.mu.Unlock()
	wake := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer wake()
	g.waiting++
	g.since = time.Now()
	for s.held && g.permits == 0 && !g.endsAtOnceLocked(verb) && ctx.Err() == nil {
		s.changed.Wait()
	}
	g.waiting--
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if s.held && !g.endsAtOnceLocked(verb) {
		g.permits--
	}
	g.requests = append(g.requests, fmt.Sprintf("%s rv=%q limit=%d continue=%q", verb, opts.ResourceVersion, opts.Limit, opts.Continue))
	planned := g.planned[verb]
	if len(planned) == 0 {
		return "", nil
	}
	g.planned[verb] = planned[1:]
	return planned[0], planned[0].err()
}

// endsAtOnceLocked: such a watch is not held, or the client would not notice that it was a short one.
func (g *gate) endsAtOnceLocked(verb string) bool {
	planned := g.planned[verb]
	return len(planned) > 0 && planned[0] == short
}

// List returns one page, a *corev1.ConfigMapList.
func (g *gate) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	verb := list
	if opts.Continue != "" {
		verb = page
	}
	if _, err := g.pass(ctx, verb, &opts); err != nil {
		return nil, err
	}
	g.server.shape(&opts)
	result, err := g.server.maps.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	for i := range result.Items {
		takeOff(&result.Items[i])
	}
	if result.Continue == "" {
		g.hasListed()
	}
	return result, nil
}

func (g *gate) hasListed() {
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	g.listed = time.Now()
}

// shape makes of a list what the world says: the server's watch cache may lag behind, or not be there, and pages may be small.
func (s *server) shape(opts *metav1.ListOptions) {
	if opts.Continue != "" {
		opts.Limit = s.pageSize
		return
	}
	inPages := opts.ResourceVersion == "" || s.noCache
	if s.noCache && opts.ResourceVersion == "0" {
		opts.ResourceVersion = ""
	}
	if !inPages {
		opts.Limit = 0
	} else if opts.Limit > 0 {
		opts.Limit = s.pageSize
	}
	if opts.ResourceVersion == "" || s.lag == 0 {
		return
	}
	asked, _ := strconv.Atoi(opts.ResourceVersion)
	at := max(s.head()-s.lag, s.compacted, s.first, asked)
	opts.ResourceVersion, opts.ResourceVersionMatch = strconv.Itoa(at), metav1.ResourceVersionMatchExact
}

// Watch begins a watch or, with SendInitialEvents, a streaming list.
func (g *gate) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	verb := plain
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		verb = stream
	}
	planned, err := g.pass(ctx, verb, &opts)
	switch planned {
	case short:
		return g.open(watch.NewEmptyWatch()), nil
	case expiredLate, tooManyLate:
		w := watch.NewFakeWithChanSize(1, false)
		var status apierrors.APIStatus
		errors.As(err, &status)
		answer := status.Status()
		w.Error(&answer)
		w.Stop()
		return g.open(w), nil
	}
	if err != nil {
		return nil, err
	}
	from, _ := strconv.Atoi(opts.ResourceVersion)
	if g.server.refuses && verb == plain && from < g.server.compacted {
		return nil, apierrors.NewResourceExpired("too old resource version")
	}
	w, err := g.server.maps.Watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	if verb == stream {
		g.hasListed()
	}
	return g.open(w), nil
}

// openWatch hands on the events of a watch; its gate knows until when it was open.
type openWatch struct {
	from   watch.Interface
	opened time.Time
	result chan watch.Event

	bookmarks chan watch.Event // those of server.bookmark

	stop    sync.Once
	stopped chan struct{}
}

func (g *gate) open(from watch.Interface) *openWatch {
	w := &openWatch{from: from, opened: time.Now(), result: make(chan watch.Event), bookmarks: make(chan watch.Event, 1),
		stopped: make(chan struct{})}
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	g.watches = append(g.watches, w)
	go g.handOn(w)
	return w
}

func (g *gate) handOn(w *openWatch) {
	defer close(w.result)
	defer func() {
		g.server.mu.Lock()
		defer g.server.mu.Unlock()
		g.watches = slices.DeleteFunc(g.watches, func(other *openWatch) bool { return other == w })
	}()
	for {
		event, open := w.next()
		if !open {
			return
		}
		if obj, ok := event.Object.(*corev1.ConfigMap); ok {
			takeOff(obj)
		}
		select {
		case w.result <- event:
		case <-w.stopped:
			return
		}
	}
}

func (w *openWatch) next() (event watch.Event, open bool) {
	select {
	case event, open = <-w.from.ResultChan():
		return event, open
	case event = <-w.bookmarks:
		return event, true
	}
}

func (w *openWatch) ResultChan() <-chan watch.Event { return w.result }

func (w *openWatch) Stop() {
	w.stop.Do(func() { close(w.stopped) })
	w.from.Stop()
}

// isWaiting reports whether a request waits, and since when.
func (g *gate) isWaiting() (since time.Time, waiting bool) {
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	return g.since, g.waiting > 0
}

// isWatching reports whether a watch is open, and since when.
func (g *gate) isWatching() (opened time.Time, watching bool) {
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	if len(g.watches) == 0 {
		return time.Time{}, false
	}
	return g.watches[0].opened, true
}

// lastListed returns when a list was answered completely for the last time; zero if none was.
func (g *gate) lastListed() time.Time {
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	return g.listed
}

func (g *gate) asked() []string {
	g.server.mu.Lock()
	defer g.server.mu.Unlock()
	return slices.Clone(g.requests)
}
