package follow

import (
	"context"
	"io"
	"iter"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
)

// feed is what a source of an informer lists and watches. It can come to select less while it runs, which needs no list:
// its watch ends, and the next one goes on from there with the narrower selector. That begins with a deletion of each
// object that is selected no more.
type feed[T listwatch.Object] struct {
	client func(shard.Selector) (listwatch.ListerWatcher[T], error)
	// stored returns what the store has, once all that was read before is there.
	stored func(context.Context) (iter.Seq2[listwatch.Key, T], error)

	mu   sync.Mutex // protects what follows
	sel  shard.Selector
	lw   listwatch.ListerWatcher[T]
	cut  context.CancelFunc // ends the watch; nil before the first
	loss *loss              // what the next watch has to tell; nil for nothing
}

// loss is that a feed has come to select less than it did.
type loss struct {
	before shard.Selector
	told   chan struct{} // closed when it was told
}

// narrow makes the feed select less, and returns when it has told that what it selects no more is deleted. The error is
// that of ctx or of the client.
func (f *feed[T]) narrow(ctx context.Context, sel shard.Selector) error {
	lw, err := f.client(sel)
	if err != nil {
		return err
	}
	told := make(chan struct{})
	f.mu.Lock()
	f.loss = &loss{f.sel, told}
	f.sel, f.lw = sel, lw
	if f.cut != nil {
		f.cut()
	}
	f.mu.Unlock()
	select {
	case <-told:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// List makes a first list one at the newest version. A reflector's first list takes any version, which a server whose
// cache is behind may answer with a time before the former owner let go. A streaming list is at the newest by itself.
func (f *feed[T]) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.List[T], error) {
	f.mu.Lock()
	lw := f.lw
	f.mu.Unlock()
	if opts.ResourceVersion == "0" {
		opts.ResourceVersion = ""
	}
	return lw.List(ctx, opts)
}

// Watch watches what is selected now. The watch of before has ended, and what it told has been passed on.
func (f *feed[T]) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[T], error) {
	f.mu.Lock()
	s := &stream[T]{feed: f, ctx: ctx, loss: f.loss}
	s.watching, s.cut = context.WithCancel(ctx)
	f.cut = s.cut
	sel, lw := f.sel, f.lw
	f.mu.Unlock()
	var err error
	if s.loss != nil && opts.SendInitialEvents == nil { // a list shows by itself what is gone
		err = s.find(sel)
	}
	if err == nil {
		s.Stream, err = lw.Watch(s.watching, opts)
	}
	if err != nil {
		s.cut()
		return nil, err
	}
	s.batches, _ = s.Stream.(listwatch.BatchStream[T])
	return s, nil
}

// stream is a watch of a feed. It ends cleanly when that is narrowed.
type stream[T listwatch.Object] struct {
	listwatch.Stream[T]
	batches       listwatch.BatchStream[T] // the same, if it is one
	feed          *feed[T]
	ctx, watching context.Context
	cut           context.CancelFunc
	loss          *loss
	gone          []T // what is still to be told of the loss
}

// find finds what the loss has taken out of the selection.
func (s *stream[T]) find(sel shard.Selector) error {
	stored, err := s.feed.stored(s.ctx)
	if err != nil {
		return err
	}
	for _, obj := range stored {
		if s.loss.before.Matches(obj) && !sel.Matches(obj) {
			s.gone = append(s.gone, obj)
		}
	}
	return nil
}

// Next returns one event of NextBatch.
func (s *stream[T]) Next() (listwatch.Event[T], error) {
	var one [1]listwatch.Event[T]
	for {
		if n, err := s.NextBatch(one[:]); n > 0 || err != nil {
			return one[0], err
		}
	}
}

// NextBatch returns the deletions, and then what the watch brings. Whoever calls it again has passed them on.
func (s *stream[T]) NextBatch(into []listwatch.Event[T]) (n int, err error) {
	for ; n < len(into) && len(s.gone) > 0; n++ {
		into[n], s.gone = listwatch.Event[T]{Type: listwatch.Deleted, Object: s.gone[0]}, s.gone[1:]
	}
	if n > 0 {
		return n, nil
	}
	s.settle()
	if s.batches != nil {
		n, err = s.batches.NextBatch(into)
	} else if into[0], err = s.Stream.Next(); err == nil {
		n = 1
	}
	if err != nil && s.watching.Err() != nil && s.ctx.Err() == nil {
		err = io.EOF
	}
	return n, err
}

// settle is called when all of the loss was passed on.
func (s *stream[T]) settle() {
	if s.loss == nil {
		return
	}
	s.feed.mu.Lock()
	if s.feed.loss == s.loss {
		s.feed.loss = nil
	}
	s.feed.mu.Unlock()
	close(s.loss.told)
	s.loss = nil
}

// Close ends the watch.
func (s *stream[T]) Close() error {
	defer s.cut()
	return s.Stream.Close()
}
