package merged

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"glasswatch/internal/guard"
	"glasswatch/internal/rv"
	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

// merge is the Feeder of an Informer: the sources' reflectors, and what they say put together.
type merge[T listwatch.Object] struct {
	moveGrace   time.Duration
	transformer func(T) (T, error) // may be nil
	waiters     waiters
	wg          sync.WaitGroup // the sources' goroutines

	// mu makes the sources take turns. The queue is written with mu held, so that its order is the merge's. The
	// consumer never takes mu. mu protects everything below; queue, opts and ctx do not change once a source runs.
	mu      sync.Mutex
	queue   sharedinformer.Queue[T] // the informer's
	opts    reflector.Options       // of the sources' reflectors
	ctx     context.Context         // of Run; nil before
	stopped bool
	ended   chan struct{} // closed once stopped is set
	sources []*source[T]
	entries map[key]*entry[T]
	waiting map[*entry[T]]struct{} // those with a loss that a source has not come to
	// synced: every source has listed once, and the queue was given the list. Invariant: nothing was queued before.
	synced    bool
	firstList *[]T // takes what is shown while that list is put together, else nil
	// history counts how often the server was set back.
	history int
	told    string // the version that the queue was given last; "0" is that of nothing
	queued  int    // how many lists and bookmarks the queue was given
	// joining: a source was added since the list or bookmark number complete, and not all have come to told since. Up to
	// that one, the store's version says nothing of that source.
	joining  bool
	complete int
}

// Run keeps the queue equal to the sources until ctx ends. It returns when every goroutine it started is gone.
func (m *merge[T]) Run(ctx context.Context) {
	m.mu.Lock()
	m.ctx = ctx
	for _, s := range m.sources {
		m.startLocked(s)
	}
	m.tellVersionLocked()
	m.mu.Unlock()
	<-ctx.Done()
	m.mu.Lock()
	m.stopped = true
	close(m.ended)
	m.mu.Unlock()
	m.wg.Wait()
}

// transform calls the user's Transform, with no lock held. A panic is an error. The result is nil if there is one.
func (m *merge[T]) transform(obj T) (out *T, err error) {
	defer guard.Recover("transform", &err)
	if m.transformer != nil {
		if obj, err = m.transformer(obj); err != nil {
			return nil, err
		}
	}
	return &obj, nil
}

func (m *merge[T]) entryLocked(k key) *entry[T] {
	e := m.entries[k]
	if e == nil {
		e = &entry[T]{key: k}
		m.entries[k] = e
	}
	return e
}

// add adds a source, and starts it if the merge runs.
func (m *merge[T]) add(from Source[T]) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case from.ListerWatcher == nil:
		return fmt.Errorf("source %q has no ListerWatcher", from.Name)
	case m.indexLocked(from.Name) >= 0:
		return fmt.Errorf("there is a source %q already", from.Name)
	case m.stopped:
		return fmt.Errorf("source %q not added: %w", from.Name, sharedinformer.ErrStopped)
	}
	s := &source[T]{Source: from, merge: m}
	m.sources = append(m.sources, s)
	m.joining = true
	if m.ctx != nil {
		m.startLocked(s)
	}
	return nil
}

func (m *merge[T]) indexLocked(name string) int {
	return slices.IndexFunc(m.sources, func(s *source[T]) bool { return s.Name == name })
}

// startLocked runs a source's reflector.
func (m *merge[T]) startLocked(s *source[T]) {
	opts := m.opts
	opts.Name += "/" + s.Name
	opts.ResumeFrom = ""
	report := opts.OnError
	opts.OnError = func(ctx context.Context, err error) { report(ctx, fmt.Errorf("source %q: %w", s.Name, err)) }
	s.reflector = reflector.New(s.ListerWatcher, reflector.Sink[T](s), opts)
	ctx, cancel := context.WithCancel(m.ctx)
	s.cancel = cancel
	m.wg.Go(func() {
		defer cancel()
		s.reflector.Run(ctx)
	})
}

// remove ends a source and forgets what it had. The version shown is noted as lost: a source that has not come to it
// must not bring back an older one.
func (m *merge[T]) remove(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.indexLocked(name)
	if at < 0 {
		return false
	}
	s := m.sources[at]
	m.sources = slices.Delete(m.sources, at, at+1)
	s.gone = true
	if s.cancel != nil {
		s.cancel()
	}
	for _, e := range m.entries {
		had := e.drop(s)
		if !had {
			continue
		}
		if e.isShown {
			e.loseAt(e.shown)
		}
		if len(e.holders) == 0 {
			e.graceEnds = time.Now() // no grace: no source will tell of a deletion
		}
		m.settleLocked(e)
	}
	m.recheckLocked()
	m.tellVersionLocked()
	return true
}

// LastSyncResourceVersion is the lowest of the sources, "" before all have listed.
func (m *merge[T]) LastSyncResourceVersion() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lowestLocked()
}

func (m *merge[T]) lowestLocked() string {
	lowest := ""
	for n, s := range m.sources {
		if n == 0 || !rv.IsComparable(s.version) || order(s.version, lowest) < 0 {
			lowest = s.version
		}
	}
	return lowest
}

// LastError joins the last errors of the sources.
func (m *merge[T]) LastError() error {
	var errs []error
	for _, s := range m.stats() {
		if s.LastError != nil {
			errs = append(errs, fmt.Errorf("source %q: %w", s.Name, s.LastError))
		}
	}
	return errors.Join(errs...)
}

// Stats adds up what the sources' reflectors count. A source that was removed counts no more.
func (m *merge[T]) Stats() (sum reflector.Stats) {
	to := reflect.ValueOf(&sum).Elem()
	for _, s := range m.stats() {
		from := reflect.ValueOf(s.Reflector)
		for n := range from.NumField() {
			if f := to.Field(n); f.CanUint() {
				f.SetUint(f.Uint() + from.Field(n).Uint())
			} else {
				f.SetInt(f.Int() + from.Field(n).Int())
			}
		}
	}
	return sum
}

func (m *merge[T]) stats() []SourceStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]SourceStats, len(m.sources))
	for n, s := range m.sources {
		all[n] = SourceStats{Name: s.Name, ResourceVersion: s.version, Objects: s.objects}
		if s.reflector != nil {
			all[n].LastError, all[n].Reflector = s.reflector.LastError(), s.reflector.Stats()
		}
	}
	return all
}
