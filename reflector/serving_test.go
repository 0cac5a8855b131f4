package reflector

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

func (s *server) version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strconv.Itoa(s.rv)
}

// Requests returns what came in since the last call.
func (s *server) Requests() (got []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.requests {
		got = append(got, q.String())
	}
	s.requests = nil
	return got
}

func pop(errs *[]error) error {
	if len(*errs) == 0 {
		return nil
	}
	err := (*errs)[0]
	*errs = (*errs)[1:]
	return err
}

func (s *server) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.List[object], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request{"list", opts, time.Now()})
	if err := s.maybeHang(ctx); err != nil {
		return nil, err
	}
	if err := pop(&s.failLists); err != nil {
		return nil, err
	}
	if v, _ := strconv.Atoi(opts.ResourceVersion); v > s.rv {
		return nil, tooLarge()
	}
	// A token is the index of the next key. Stories do not change objects between pages.
	keys := slices.SortedFunc(maps.Keys(s.objects), func(a, b listwatch.Key) int { return cmpString(a.Name, b.Name) })
	from, _ := strconv.Atoi(opts.Continue)
	keys = keys[min(from, len(keys)):]
	limit := int(opts.Limit)
	if s.watchCache && opts.ResourceVersion != "" {
		limit = 0
	}
	if s.pageCap > 0 && (limit == 0 || limit > s.pageCap) && opts.Limit != 0 {
		limit = s.pageCap
	}
	list := &listwatch.List[object]{ResourceVersion: strconv.Itoa(s.rv)}
	if limit > 0 && len(keys) > limit {
		list.Continue = strconv.Itoa(from + limit)
		keys = keys[:limit]
	}
	if s.repeatToken {
		list.Continue = "1"
	}
	for i, key := range keys {
		c := s.objects[key]
		if s.garbleLists > 0 && i == len(keys)-1 {
			s.garbleLists--
			c.bad, c.anon = true, true
		}
		if c.bad {
			list.Bad = append(list.Bad, c.objectError(true))
		} else {
			list.Items = append(list.Items, c.object())
		}
	}
	return list, nil
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// maybeHang waits for ctx, as a server that does not answer makes a client wait.
func (s *server) maybeHang(ctx context.Context) error {
	if !s.hang {
		return nil
	}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	return ctx.Err()
}

func (s *server) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[object], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	streaming := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	verb := "watch"
	if streaming {
		verb = "stream"
	}
	s.requests = append(s.requests, request{verb, opts, time.Now()})
	if err := s.maybeHang(ctx); err != nil {
		return nil, err
	}
	if streaming {
		if s.refuseStreaming != nil {
			return nil, s.refuseStreaming
		}
		if err := pop(&s.failStreams); err != nil {
			return nil, err
		}
	}
	if err := pop(&s.failWatches); err != nil {
		return nil, err
	}
	if s.refuseWatches != nil && !streaming {
		return nil, s.refuseWatches
	}
	from, _ := strconv.Atoi(opts.ResourceVersion)
	if from > s.rv {
		return nil, tooLarge()
	}
	synthetic := streaming || from == 0
	if !synthetic && from < s.compacted {
		return nil, expired()
	}
	st := &fakeStream{server: s, ctx: ctx, wake: make(chan struct{}, 1), closed: make(chan struct{})}
	if synthetic {
		s.sendInitial(st, streaming && !s.withholdEnd)
	} else {
		for _, c := range s.history {
			if c.rv > from {
				st.push(c.result())
			}
		}
	}
	s.streams[st] = struct{}{}
	return batchStream{st}, nil
}

// sendInitial sends what is there in an order that has nothing to do with the versions.
func (s *server) sendInitial(st *fakeStream, end bool) {
	keys := slices.SortedFunc(maps.Keys(s.objects), func(a, b listwatch.Key) int { return cmpString(a.Name, b.Name) })
	for _, key := range keys {
		c := s.objects[key]
		c.typ = listwatch.Added
		st.push(c.result())
	}
	if end {
		st.push(result{ev: listwatch.Event[object]{
			Type: listwatch.Bookmark, ResourceVersion: strconv.Itoa(s.rv), InitialEventsEnd: true,
		}})
	}
}

type result struct {
	ev  listwatch.Event[object]
	err error
}

type fakeStream struct {
	server *server
	ctx    context.Context
	wake   chan struct{}
	once   sync.Once
	closed chan struct{}

	mu    sync.Mutex
	queue []result
	last  error // an error that ends the stream stays
}

func (st *fakeStream) push(what result) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.queue = append(st.queue, what)
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

func (st *fakeStream) take() (result, bool) {
	st.server.gate.Lock()
	defer st.server.gate.Unlock()
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.last != nil {
		return result{err: st.last}, true
	}
	if len(st.queue) == 0 {
		return result{}, false
	}
	what := st.queue[0]
	st.queue = st.queue[1:]
	var bad *listwatch.ObjectError
	if what.err != nil && !errors.As(what.err, &bad) {
		st.last = what.err
	}
	return what, true
}

func (st *fakeStream) Next() (listwatch.Event[object], error) {
	for {
		if st.ctx.Err() != nil {
			return listwatch.Event[object]{}, st.ctx.Err()
		}
		if what, ok := st.take(); ok {
			return what.ev, what.err
		}
		select {
		case <-st.wake:
		case <-st.ctx.Done():
		case <-st.closed:
			return listwatch.Event[object]{}, io.ErrClosedPipe
		}
	}
}

// batchStream hands out all that waits at once, up to an event that could not be read, or the end.
type batchStream struct{ *fakeStream }

func (st batchStream) NextBatch(into []listwatch.Event[object]) (n int, err error) {
	if into[0], err = st.Next(); err != nil {
		return 0, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for n = 1; n < len(into) && len(st.queue) > 0 && st.queue[0].err == nil; n++ {
		into[n] = st.queue[0].ev
		st.queue = st.queue[1:]
	}
	return n, nil
}

func (st *fakeStream) Close() error {
	st.once.Do(func() { close(st.closed) })
	st.server.mu.Lock()
	defer st.server.mu.Unlock()
	delete(st.server.streams, st)
	return nil
}
