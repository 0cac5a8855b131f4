package memserver

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Verb is a kind of request.
type Verb string

// The kinds of requests.
const (
	List   Verb = "list"   // the first page of a list
	page   Verb = "page"   // another one
	Stream Verb = "stream" // a streaming list
	Watch  Verb = "watch"  // a watch without initial events
)

// Failure is what becomes of one request.
type Failure string

// The failures. The last three begin a watch or a streaming list first.
const (
	BadRequest  Failure = "400"
	Forbidden   Failure = "403"
	Expired     Failure = "410"
	TooMany     Failure = "429"
	Internal    Failure = "500"
	Unavailable Failure = "503"
	Refused     Failure = "refused" // no client receives
	TooLarge    Failure = "toolarge"
	Short       Failure = "short"     // ends at once; is not held
	ExpiredLate Failure = "event-410" // ends with an ERROR event
	TooManyLate Failure = "event-429"
)

var resource = schema.GroupResource{Resource: "configmaps"}

func (f Failure) err() error {
	switch f {
	case BadRequest:
		return apierrors.NewBadRequest("planned")
	case Forbidden:
		return apierrors.NewForbidden(resource, "", fmt.Errorf("planned"))
	case Expired, ExpiredLate:
		return apierrors.NewResourceExpired("planned")
	case TooMany, TooManyLate:
		return apierrors.NewTooManyRequestsError("planned")
	case Internal:
		return apierrors.NewInternalError(fmt.Errorf("planned"))
	case Unavailable:
		return apierrors.NewServiceUnavailable("planned")
	case TooLarge:
		return tooLarge("planned", 0)
	case Refused:
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	return nil
}

func tooLarge(format string, revision int) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %s%d", format, revision), 0)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	return err
}

// Client is one client's way to the server. List and Watch are what client-go's cache.ListWatch and our listwatch.Funcs ask
// for.
type Client struct {
	server *Server
	name   string

	// Guarded by the server's mutex.
	permits  int
	waiting  int       // requests at the gate
	since    time.Time // when the last of them came
	listed   time.Time // when a list was complete
	failures map[Verb][]Failure
	watches  []*stream
	requests []string
}

// pass waits at the gate and returns what was planned for the request. The server's mutex is held on return, too.
func (c *Client) passLocked(ctx context.Context, verb Verb, opts *metav1.ListOptions) (Failure, error) {
	s := c.server
	wake := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer wake()
	c.waiting++
	c.since = time.Now()
	for s.held && c.permits == 0 && !c.hangsUpLocked(verb) && ctx.Err() == nil {
		s.changed.Wait()
	}
	c.waiting--
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if s.held && !c.hangsUpLocked(verb) {
		c.permits--
	}
	c.requests = append(c.requests, fmt.Sprintf("%s rv=%q limit=%d continue=%q", verb, opts.ResourceVersion, opts.Limit, opts.Continue))
	planned := c.failures[verb]
	if len(planned) == 0 {
		return "", nil
	}
	c.failures[verb] = planned[1:]
	return planned[0], planned[0].err()
}

// hangsUpLocked: the next request is answered at once, or the client would not notice a watch that ends at once.
func (c *Client) hangsUpLocked(verb Verb) bool {
	planned := c.failures[verb]
	return len(planned) > 0 && planned[0] == Short
}

// IsWaiting reports whether a request waits at the gate, and since when.
func (c *Client) IsWaiting() (time.Time, bool) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return c.since, c.waiting > 0
}

// IsWatching reports whether a watch is open, and since when.
func (c *Client) IsWatching() (time.Time, bool) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if len(c.watches) == 0 {
		return time.Time{}, false
	}
	return c.watches[0].opened, true
}

// LastListed returns when a list was answered completely for the last time; zero if none was.
func (c *Client) LastListed() time.Time {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return c.listed
}

// Requests returns the requests so far, for people to read.
func (c *Client) Requests() []string {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	return slices.Clone(c.requests)
}

// List returns one page, a *corev1.ConfigMapList.
func (c *Client) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	verb := List
	if opts.Continue != "" {
		verb = page
	}
	if _, err := c.passLocked(ctx, verb, &opts); err != nil {
		return nil, err
	}
	at, from, err := s.momentLocked(&opts)
	if err != nil {
		return nil, err
	}
	keys := s.keysLocked(at)
	end := len(keys)
	inPages := opts.Continue != "" || opts.ResourceVersion == "" || s.opts.NoCache
	if opts.Limit > 0 && s.opts.PageSize > 0 && inPages {
		end = min(from+s.opts.PageSize, end)
	}
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(at)}}
	for _, key := range keys[from:end] {
		list.Items = append(list.Items, *s.states[at][key].DeepCopy())
	}
	if end < len(keys) {
		list.Continue = fmt.Sprintf("%d:%d", at, end)
	} else {
		c.listed = time.Now()
	}
	return list, nil
}

// momentLocked is the revision that a list shows, and the place of its first item.
func (s *Server) momentLocked(opts *metav1.ListOptions) (revision, from int, err error) {
	if opts.Continue != "" {
		at, place, _ := strings.Cut(opts.Continue, ":")
		revision, _ = strconv.Atoi(at)
		from, _ = strconv.Atoi(place)
		if revision < s.compacted {
			return 0, 0, apierrors.NewResourceExpired("the continue token is too old")
		}
		return revision, from, nil
	}
	cached := max(s.revision-s.opts.Lag, s.compacted, firstRevision)
	switch opts.ResourceVersion {
	case "":
		return s.revision, 0, nil
	case "0":
		return cached, 0, nil
	}
	asked, err := strconv.Atoi(opts.ResourceVersion)
	switch {
	case err != nil:
		return 0, 0, apierrors.NewBadRequest("no resourceVersion: " + opts.ResourceVersion)
	case asked > s.revision:
		return 0, 0, tooLarge("head is ", s.revision)
	}
	return max(cached, asked), 0, nil
}

// Watch begins a watch or, with SendInitialEvents, a streaming list.
func (c *Client) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	verb := Watch
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		verb = Stream
	}
	planned, err := c.passLocked(ctx, verb, &opts)
	w := &stream{client: c, result: make(chan watch.Event), stopped: make(chan struct{})}
	switch {
	case planned == Short:
		w.ended = true
	case planned == ExpiredLate, planned == TooManyLate:
		w.status = err
	case err != nil:
		return nil, err
	default:
		if err := s.beginLocked(w, verb, &opts); err != nil {
			return nil, err
		}
	}
	c.watches = append(c.watches, w)
	w.opened = time.Now()
	go w.run()
	return w, nil
}

// beginLocked aims a stream at its first event.
func (s *Server) beginLocked(w *stream, verb Verb, opts *metav1.ListOptions) error {
	if verb == Stream {
		if s.opts.NoStreaming {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
		}
		at, _, err := s.momentLocked(opts)
		if err != nil {
			return err
		}
		for _, key := range s.keysLocked(at) {
			w.initial = append(w.initial, watch.Event{Type: watch.Added, Object: s.states[at][key].DeepCopy()})
		}
		w.initial = append(w.initial, bookmarkAt(at, true))
		w.at = at
		w.client.listed = time.Now()
		return nil
	}
	from, err := strconv.Atoi(opts.ResourceVersion)
	switch {
	case err != nil || from == 0:
		return apierrors.NewBadRequest("a watch here needs a resourceVersion")
	case from > s.revision:
		return tooLarge("head is ", s.revision)
	case from < s.compacted && s.opts.ExpireByEvent:
		w.status = apierrors.NewResourceExpired("too old")
	case from < s.compacted:
		return apierrors.NewResourceExpired("too old")
	}
	w.at = from
	return nil
}
