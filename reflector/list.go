package reflector

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/keys"
	"glasswatch/internal/rv"
	"glasswatch/listwatch"
)

// streamingList is what ListingStreaming needs.
type streamingList[T listwatch.Object] struct {
	r     *Reflector[T]
	asked string // the version that the list is not to be older than, so that a relist never goes back in time
	// initial is what the stream has brought so far.
	initial  map[listwatch.Key]T
	received int // events, bookmarks among them
	// upTo is the newest version of a Modified or Deleted among the initial events. Added ones are in no order.
	upTo string
}

func (r *Reflector[T]) listingStreaming() *state[T] {
	l := &streamingList[T]{r: r, initial: map[listwatch.Key]T{}}
	return &state[T]{name: ListingStreaming, step: l.step}
}

// step opens the stream, then takes one event.
func (l *streamingList[T]) step(ctx context.Context) *state[T] {
	r := l.r
	if r.at.stream == nil {
		l.asked = r.version
		if r.askLatest {
			l.asked = ""
		}
		opts := metav1.ListOptions{
			SendInitialEvents:    new(true),
			ResourceVersion:      l.asked,
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		}
		s, err := r.openStream(ctx, opts, r.opts.SilenceTimeout)
		if err != nil {
			return l.failed(ctx, err)
		}
		r.at.stream = s
	}
	events, err := r.nextEvents(r.at.stream)
	if err != nil {
		return l.failed(ctx, err)
	}
	l.received += len(events)
	for _, ev := range events { // there is room for one only
		switch {
		case ev.Type == listwatch.Bookmark && ev.InitialEventsEnd:
			return l.end(ctx, ev.ResourceVersion)
		case ev.Type == listwatch.Bookmark:
			return r.at // with the same deadline: the one that ends the list may never come
		case isChange(ev.Type):
			l.apply(ev)
		}
	}
	r.at.stream.setDeadline(r.opts.SilenceTimeout)
	return r.at
}

// failed decides what follows a streaming list that did not come to its end.
func (l *streamingList[T]) failed(ctx context.Context, err error) *state[T] {
	kind := kindOf(err)
	switch kind {
	case kindEnded:
		err = ErrEndedEarly
	case kindUnanswered, kindOverdue:
		err = ErrSilent
	case kindUnsupported:
		logUnsupported(ctx, l.r.opts.Name, err)
	}
	return l.r.follow(ctx, kind, l.asked, err)
}

// end gives the sink the list. The stream goes on as a watch.
func (l *streamingList[T]) end(ctx context.Context, version string) *state[T] {
	if version == "" {
		return l.failed(ctx, ErrEndedEarly)
	}
	r, s, list := l.r, l.r.at.stream, l.list(version)
	s.setDeadline(2*r.opts.MinWatchTimeout + watchGrace)
	l.initial = nil // list has it
	logInitialEvents(ctx, r.opts.Name, l.received, time.Since(s.opened))
	r.update(func() { r.stats.StreamingLists++ })
	r.replace(ctx, list, time.Since(s.opened))
	neverShort := time.Time{} // It has brought a list.
	return r.watching(s, neverShort)
}

// apply takes over an event of an object: an initial one, or a change that happens meanwhile.
func (l *streamingList[T]) apply(ev listwatch.Event[T]) {
	if ev.Type != listwatch.Added && (l.upTo == "" || rv.IsOlder(l.upTo, ev.ResourceVersion)) {
		l.upTo = ev.ResourceVersion
	}
	key := listwatch.KeyOf(ev.Object)
	l.initial[key] = ev.Object
	if ev.Type == listwatch.Deleted {
		delete(l.initial, key)
	}
}

// list returns what was gathered, sorted by namespace and name.
func (l *streamingList[T]) list(version string) *listwatch.List[T] {
	if rv.IsOlder(version, l.upTo) {
		version = l.upTo // the end of the initial events came late
	}
	items := slices.SortedFunc(maps.Values(l.initial), keys.CompareObjects[T])
	return &listwatch.List[T]{Items: items, ResourceVersion: version}
}

func (r *Reflector[T]) listingPaged() *state[T] {
	return &state[T]{name: ListingPaged, step: r.listPaged}
}

// listPaged fetches a list. The first one is at "0", any version. A watch cache serves a list at a known version only
// if it has no limit. At "0" it ignores the limit.
func (r *Reflector[T]) listPaged(ctx context.Context) *state[T] {
	started := time.Now()
	asked := cmp.Or(r.version, "0")
	if r.askLatest {
		asked = ""
	}
	var pageSize int64
	if r.paginates || isAny(asked) {
		pageSize = defaultPageSize
	}
	pages := pager[T]{ListerWatcher: r.lw}
	opts := metav1.ListOptions{ResourceVersion: asked}
	list, err := listwatch.ListAll(ctx, &pages, opts, cmp.Or(r.opts.PageSize, pageSize))
	if ctx.Err() != nil {
		return stopped[T]()
	}
	if err != nil {
		return r.follow(ctx, kindOf(err), asked, err)
	}
	r.paginates = r.paginates || (asked == "0" && pages.fetched > 1)
	if pages.versionless {
		list.ResourceVersion = ""
	}
	for _, bad := range list.Bad {
		r.report(ctx, bad)
	}
	r.update(func() { r.stats.PagedLists++ })
	r.replace(ctx, list, time.Since(started))
	return r.connecting()
}

// pager counts pages, and lets ListAll accept pages without a resourceVersion, as some test doubles send: they get "0",
// which means any.
type pager[T listwatch.Object] struct {
	listwatch.ListerWatcher[T]
	fetched     int
	versionless bool
}

// List asks for a page.
func (p *pager[T]) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.List[T], error) {
	p.fetched++
	page, err := p.ListerWatcher.List(ctx, opts)
	if err == nil && page.ResourceVersion == "" {
		p.versionless = true
		page.ResourceVersion = "0"
	}
	return page, err
}
