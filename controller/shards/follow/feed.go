package follow

import (
	"cmp"
	"context"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
)

// feed is what a source lists and watches. It can come to select less while it runs, without a list:
//
//	watch of 1 and 2 ─▶ event 7 ─ cut ─▶ the store has event 7 ─▶ Deleted: what it has of 2 ─▶ watch of 1 from 7 ─▶
//
// All this passes through one reflector. So a deletion never takes away what the narrower watch has brought.
type feed[T listwatch.Object] struct {
	name     string // of the source
	informer *Informer[T]

	mu     sync.Mutex // protects what follows
	sel    shard.Selector
	lw     listwatch.ListerWatcher[T]
	loss   *loss              // whose deletions have not been passed on yet; nil if there is none
	since  *loss              // loss, when the last list began
	cut    context.CancelFunc // ends the watch; nil if there is none
	lists  bool               // that watch lists
	opened time.Time          // when it was asked for

	last    string        // the version of the last list or event that the reflector got, not of a bookmark
	pending bool          // the reflector has something that it has not passed on yet
	frozen  chan struct{} // if not nil, it gets nothing more; closed when nothing is pending
}

// loss is that a feed has come to select less than it did.
type loss struct {
	before shard.Selector
	told   chan struct{} // closed when the deletions have been passed on
	listed bool          // a list of what is left has come, which shows what is gone
}

// narrow makes the feed select less. It returns when the deletions have been passed on, and must not be called again
// before. The error is that of ctx or of the client.
func (f *feed[T]) narrow(ctx context.Context, sel shard.Selector) error {
	lw, err := f.informer.client(sel)
	if err != nil {
		return err
	}
	f.mu.Lock()
	l := &loss{before: f.sel, told: make(chan struct{})}
	f.sel, f.lw, f.loss = sel, lw, l
	f.cutLocked()
	f.mu.Unlock()
	select {
	case <-l.told:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cutLocked ends the watch, but not within its first second: a reflector takes such a watch for a failure, and lists.
func (f *feed[T]) cutLocked() {
	if f.cut != nil && !f.lists {
		time.AfterFunc(time.Until(f.opened.Add(time.Second)), f.cut)
	}
}

// read returns the version of the last that the reflector got.
func (f *feed[T]) read() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// freeze ends what the feed reads, and returns the version of the last that it has passed on. The error is that of ctx.
func (f *feed[T]) freeze(ctx context.Context) (last string, err error) {
	f.mu.Lock()
	f.frozen = make(chan struct{})
	if !f.pending {
		close(f.frozen)
	}
	if f.cut != nil {
		f.cut()
	}
	f.mu.Unlock()
	select {
	case <-f.frozen:
		return f.last, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// ended waits for the end of a source that is frozen.
func ended(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// asks is called when the reflector asks for more: it has passed on what it got before. If the feed is frozen, it must
// not get more.
func (f *feed[T]) asks() (isFrozen bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pending && f.frozen != nil {
		close(f.frozen)
	}
	f.pending = false
	return f.frozen != nil
}

// gets is called before the reflector gets something. It reports false if the feed was frozen meanwhile. version is that
// of an event or a whole list, else empty.
func (f *feed[T]) gets(version string) (ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.frozen != nil {
		return false
	}
	f.pending, f.last = true, cmp.Or(version, f.last)
	return true
}

// List makes a first list one at the newest version. A reflector's first list takes any version: a server whose cache is
// behind may answer with what was before the former owner let go. A streaming list is at the newest by itself.
func (f *feed[T]) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.List[T], error) {
	if f.asks() {
		return nil, ended(ctx)
	}
	f.mu.Lock()
	lw := f.lw
	if opts.Continue == "" {
		f.since = f.loss
	}
	f.mu.Unlock()
	if opts.ResourceVersion == "0" {
		opts.ResourceVersion = ""
	}
	list, err := lw.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	version := list.ResourceVersion
	if list.Continue != "" {
		version = ""
	}
	if !f.gets(version) {
		return nil, ended(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if list.Continue == "" && f.loss != nil && f.loss == f.since {
		f.loss.listed = true
	}
	return list, nil
}

// Watch watches what is selected now. When it is called, the reflector has passed on all of the watch before.
func (f *feed[T]) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[T], error) {
	for {
		if f.asks() {
			return nil, ended(ctx)
		}
		f.mu.Lock()
		s := &stream[T]{feed: f, ctx: ctx, loss: f.loss, lists: opts.SendInitialEvents != nil}
		s.watching, s.cut = context.WithCancel(ctx)
		f.cut, f.lists, f.opened = s.cut, s.lists, time.Now()
		if f.frozen != nil {
			s.cut()
		}
		sel, lw := f.sel, f.lw
		f.mu.Unlock()
		var err error
		if s.loss != nil && !s.lists && !s.loss.listed { // a list shows by itself what is gone
			s.gone, err = f.find(ctx, s.loss.before, sel)
		}
		if err == nil {
			s.Stream, err = lw.Watch(s.watching, opts)
		}
		if err == nil {
			return s, nil
		}
		wasCut := s.wasCut()
		if s.cut(); !wasCut {
			return nil, err
		}
	}
}

// find returns what the store has of one selector and not of the other. It first waits until the store has all that the
// source has read.
//
// The store may show another object of the same key instead of the source's: one that was made again, of another
// source, whose watch is ahead. Or Transform refuses the source's. That cannot be told one by one, so an error asks for a
// list.
func (f *feed[T]) find(ctx context.Context, before, sel shard.Selector) (gone []T, err error) {
	if err := f.informer.wait(ctx); err != nil {
		return nil, err
	}
	shown, had := 0, 0
	for _, obj := range f.informer.Store().All() {
		s := f.informer.of(obj)
		if f.informer.group.has(before, s) {
			shown++
			if !f.informer.group.has(sel, s) {
				gone = append(gone, obj)
			}
		}
	}
	for _, source := range f.informer.Sources() {
		if source.Name == f.name {
			had = source.Objects
		}
	}
	if had != shown {
		return nil, apierrors.NewResourceExpired("the source has objects that the store does not show: list them")
	}
	return gone, nil
}

// stream is a watch of a feed. It ends cleanly when that is narrowed.
type stream[T listwatch.Object] struct {
	listwatch.Stream[T]
	feed          *feed[T]
	ctx, watching context.Context
	cut           context.CancelFunc // ends watching
	loss          *loss              // what it has to tell
	gone          []T                // of that, what is still to be told
	lists         bool               // the list that it begins with has not ended
	begun         bool               // what it begins with was passed on
}

func (s *stream[T]) wasCut() bool { return s.watching.Err() != nil && s.ctx.Err() == nil }

// Next returns one event of NextBatch.
func (s *stream[T]) Next() (listwatch.Event[T], error) {
	var one [1]listwatch.Event[T]
	for {
		if n, err := s.NextBatch(one[:]); n > 0 || err != nil {
			return one[0], err
		}
	}
}

// NextBatch returns the deletions, and then what the watch brings. Whoever calls it again has passed them on. The
// caller may write to what it gets, so that is a copy of what the store has.
func (s *stream[T]) NextBatch(into []listwatch.Event[T]) (n int, err error) {
	if s.feed.asks() {
		return 0, ended(s.ctx)
	}
	for ; n < len(into) && len(s.gone) > 0; n++ {
		into[n] = listwatch.Event[T]{Type: listwatch.Deleted, Object: s.gone[0].DeepCopyObject().(T)}
		s.gone = s.gone[1:]
	}
	if n > 0 {
		_ = s.feed.gets("") // it is not frozen while it is narrowed
		return n, nil
	}
	if !s.begun && !s.lists {
		s.begin()
	}
	if batches, ok := s.Stream.(listwatch.BatchStream[T]); ok {
		n, err = batches.NextBatch(into)
	} else if into[0], err = s.Stream.Next(); err == nil {
		n = 1
	}
	version := ""
	for _, ev := range into[:n] {
		s.lists = s.lists && !ev.InitialEventsEnd
		if !s.lists && ev.Type != listwatch.Bookmark || ev.InitialEventsEnd {
			version = ev.ResourceVersion
		}
	}
	if n > 0 && !s.feed.gets(version) || n == 0 && s.feed.asks() {
		return 0, ended(s.ctx) // not io.EOF: a reflector reports a watch that ends within a second
	}
	if err != nil && s.wasCut() {
		err = io.EOF
	}
	return n, err
}

// begin is called when the deletions or the list have been passed on.
func (s *stream[T]) begin() {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	s.begun = true
	if f.lists = false; f.loss != s.loss {
		f.cutLocked() // it was narrowed during the list
	} else if s.loss != nil {
		close(s.loss.told)
		f.loss = nil
	}
}

// Close ends the watch.
func (s *stream[T]) Close() error {
	defer s.cut()
	return s.Stream.Close()
}
