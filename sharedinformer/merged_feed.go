package sharedinformer

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"glasswatch/listwatch"
	"glasswatch/reflector"
)

// merge is what feeds a MergedInformer's queue: the sources' reflectors, and what they say put together.
type merge[T object] struct {
	grace time.Duration
	// wanted reports whether somebody waits for the store's version.
	wanted func() bool
	// report tells the user of what failed while mu was held.
	report func()
	// sharing has a source's objects share their parts.
	sharing func(listwatch.ListerWatcher[T]) (listwatch.ListerWatcher[T], bool)

	// awake has capacity 1: the loop has something to look at.
	awake chan struct{}
	wg    sync.WaitGroup // the sources' goroutines

	// mu makes the sources take turns. The queue is written with mu held, so that its order is the merge's; it may make the
	// merge wait for the consumer, and it runs the Transform. The consumer never takes mu. mu protects all below.
	mu      sync.Mutex
	cfg     ControllerConfig[T] // of the informer, once it runs
	ctx     context.Context     // of Run; nil before
	stopped bool
	sources []*source[T]
	// synced: every source has listed once, and the queue was given the list. Invariant: nothing was queued before.
	synced  bool
	told    string // the version that the queue was given last
	entries map[key]*mergedEntry[T]
	// graces are the deletions that wait, the first to end first.
	graces []grace[T]
}

// grace is the end of an entry's patience.
type grace[T object] struct {
	key   key
	entry *mergedEntry[T]
	turn  int // counts only if it is still the entry's
	ends  time.Time
}

func newMerge[T object](grace time.Duration) *merge[T] {
	return &merge[T]{grace: grace, awake: make(chan struct{}, 1), entries: map[key]*mergedEntry[T]{}}
}

// unlock lets go of mu after the queue was written.
func (m *merge[T]) unlock() {
	m.mu.Unlock()
	m.report()
}

// attach takes the place of a controller's reflector.
func (m *merge[T]) attach(cfg ControllerConfig[T]) feeder {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cfg = cfg
	return m
}

// Run keeps the queue equal to the sources until ctx ends. It returns when every goroutine it started is gone.
func (m *merge[T]) Run(ctx context.Context) {
	m.mu.Lock()
	m.ctx = ctx
	for _, s := range m.sources {
		m.startLocked(s)
	}
	m.syncLocked()
	m.unlock()

	m.loop(ctx)

	m.mu.Lock()
	m.stopped = true
	m.mu.Unlock()
	m.wg.Wait()
}

// loop ends graces, resyncs, and tells those who wait for a version.
func (m *merge[T]) loop(ctx context.Context) {
	alarm := time.NewTimer(time.Hour)
	defer alarm.Stop()
	var resync time.Time
	for {
		next := m.look(&resync)
		alarm.Reset(next)
		select {
		case <-ctx.Done():
			return
		case <-m.awake:
		case <-alarm.C:
		}
	}
}

// look does what is due and returns when to look again.
func (m *merge[T]) look(resync *time.Time) (next time.Duration) {
	now := time.Now()
	next = time.Hour
	if m.resyncDue(now, resync) {
		if err := m.cfg.Queue.Resync(); err != nil {
			m.cfg.Reflector.OnError(m.ctx, &reflector.SinkError{Op: "Resync", Err: err})
		}
	}
	if !resync.IsZero() {
		next = min(next, resync.Sub(now))
	}
	m.mu.Lock()
	defer m.unlock()
	for len(m.graces) > 0 {
		g := m.graces[0]
		if left := g.ends.Sub(now); left > 0 {
			next = min(next, left)
			break
		}
		m.graces[0] = grace[T]{}
		m.graces = m.graces[1:]
		if g.entry.turn == g.turn {
			g.entry.impatient = true
			m.settleLocked(g.key, g.entry)
		}
	}
	m.tellVersionLocked()
	return next
}

// resyncDue reports whether it is time for a resync, and plans the next. The first period begins with the first list.
func (m *merge[T]) resyncDue(now time.Time, at *time.Time) bool {
	m.mu.Lock()
	opts, synced := m.cfg, m.synced
	m.mu.Unlock()
	switch {
	case opts.ResyncPeriod <= 0 || !synced:
		return false
	case at.IsZero():
		*at = now.Add(opts.ResyncPeriod)
		return false
	case now.Before(*at):
		return false
	}
	*at = now.Add(opts.ResyncPeriod)
	return opts.ShouldResync == nil || opts.ShouldResync()
}

// wake makes the loop look, soon.
func (m *merge[T]) wake() {
	select {
	case m.awake <- struct{}{}:
	default:
	}
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
		return fmt.Errorf("source %q not added: %w", from.Name, ErrStopped)
	}
	from.ListerWatcher, _ = m.sharing(from.ListerWatcher)
	s := &source[T]{Source: from, merge: m}
	m.sources = append(m.sources, s)
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
	opts := m.cfg.Reflector
	opts.Name = m.cfg.Name + "/" + s.Name
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

// remove ends a source and forgets what it had. The version in which that is shown is remembered: a source that has not come to
// it must not bring back an older one, unless the server was set back.
func (m *merge[T]) remove(name string) bool {
	m.mu.Lock()
	defer m.unlock()
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
	for k, e := range m.entries {
		if e.among == s {
			e.among = nil
		}
		had := e.drop(s)
		if had && e.isShown && !m.setBackLocked(k, e) && (e.deletedAt(e.shown) || e.deleted == e.shown) {
			e.impatient = len(e.holders) == 0 // nobody will tell of a deletion
		}
		if had || e.waitsFor == s {
			m.settleLocked(k, e)
		}
	}
	m.syncLocked()
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
		if !s.listed {
			return ""
		}
		if n == 0 || order(s.version, lowest) < 0 {
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
	for _, s := range m.stats() {
		addUp(&sum, s.Reflector)
	}
	return sum
}

// addUp adds every number of s to sum's.
func addUp(sum *reflector.Stats, s reflector.Stats) {
	to, from := reflect.ValueOf(sum).Elem(), reflect.ValueOf(s)
	for n := range from.NumField() {
		if f := to.Field(n); f.CanUint() {
			f.SetUint(f.Uint() + from.Field(n).Uint())
		} else {
			f.SetInt(f.Int() + from.Field(n).Int())
		}
	}
}

func (m *merge[T]) stats() []SourceStats {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]SourceStats, len(m.sources))
	for n, s := range m.sources {
		all[n] = SourceStats{Name: s.Name, Objects: s.objects}
		if s.listed {
			all[n].ResourceVersion = s.version
		}
		if s.reflector != nil {
			all[n].LastError, all[n].Reflector = s.reflector.LastError(), s.reflector.Stats()
		}
	}
	return all
}

// order compares two versions: negative if a is the older. An unknown one is the oldest; of two that do not compare, a, which came
// later, counts as the newer.
func order(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return -1
	case b == "":
		return 1
	}
	if c, err := resourceversion.CompareResourceVersion(a, b); err == nil {
		return c
	}
	return 1
}

// comparableVersion reports whether a version can be compared with others.
func comparableVersion(v string) bool {
	_, err := resourceversion.CompareResourceVersion(v, v)
	return err == nil
}
