package reflector

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/keys"
	"glasswatch/internal/rv"
	"glasswatch/listwatch"
)

// streamingList is what ListingStreaming needs. A paged list needs nothing between two steps: it is one step.
type streamingList[T listwatch.Object] struct {
	r       *Reflector[T]
	stream  *stream[T]          // nil before the server has answered
	asked   string              // the version that the list is not to be older than
	initial map[listwatch.Key]T // the objects that are there, after the events so far
	events  int                 // how many came, bookmarks among them
	newest  string              // the newest version of a Modified or Deleted. Added ones come in no order.
}

func (r *Reflector[T]) listingStreaming() *state[T] {
	return &state[T]{name: ListingStreaming, step: r.openList}
}

// openList asks for a streaming list, not older than what the sink has: a relist never goes back in time.
func (r *Reflector[T]) openList(ctx context.Context) *state[T] {
	l := &streamingList[T]{r: r, asked: r.version, initial: map[listwatch.Key]T{}}
	if r.askLatest {
		l.asked = latestVersion
	}
	s, err := r.openStream(ctx, metav1.ListOptions{
		SendInitialEvents:    new(true),
		ResourceVersion:      l.asked,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}, r.opts.SilenceTimeout)
	if err != nil {
		return l.failed(ctx, err)
	}
	l.stream = s
	return &state[T]{name: ListingStreaming, step: l.step, stream: s}
}

// step takes one event.
func (l *streamingList[T]) step(ctx context.Context) *state[T] {
	events, err := l.r.nextEvents(l.stream)
	if err != nil {
		return l.failed(ctx, err)
	}
	l.events += len(events)
	for _, ev := range events { // at most one: there is no more room
		switch {
		case ev.Type == listwatch.Bookmark && ev.InitialEventsEnd:
			return l.end(ctx, ev.ResourceVersion)
		case ev.Type == listwatch.Bookmark:
			return l.r.current // The deadline stays: bookmarks may go on though the one that ends the list never comes.
		case isChange(ev.Type):
			l.apply(ev)
		}
	}
	l.stream.setDeadline(l.r.opts.SilenceTimeout)
	return l.r.current
}

// apply takes over an event of an object: an initial one, or a change that happens meanwhile.
func (l *streamingList[T]) apply(ev listwatch.Event[T]) {
	if ev.Type != listwatch.Added && (l.newest == noVersion || rv.IsOlder(l.newest, ev.ResourceVersion)) {
		l.newest = ev.ResourceVersion
	}
	key := listwatch.KeyOf(ev.Object)
	if ev.Type == listwatch.Deleted {
		delete(l.initial, key)
	} else {
		l.initial[key] = ev.Object
	}
}

// end gives the sink the list. The stream goes on as a watch.
func (l *streamingList[T]) end(ctx context.Context, version string) *state[T] {
	if version == noVersion {
		return l.failed(ctx, io.EOF) // as if there had been no end
	}
	r, took := l.r, time.Since(l.stream.opened)
	l.stream.setDeadline(r.opts.watchDeadline())
	r.log(ctx, 4, "Initial events are complete", "totalItems", l.events, "duration", took)
	r.update(func() { r.stats.StreamingLists++ })
	list := l.list(version)
	l.initial = nil // so that it can be collected
	r.replace(ctx, list, took)
	return r.watching(l.stream, true)
}

// list returns what was gathered, sorted by namespace and name.
func (l *streamingList[T]) list(version string) *listwatch.List[T] {
	if rv.IsOlder(version, l.newest) { // changes overtook the bookmark
		version = l.newest
	}
	items := slices.SortedFunc(maps.Values(l.initial), keys.CompareObjects[T])
	return &listwatch.List[T]{Items: items, ResourceVersion: version}
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
		l.r.log(ctx, 4, "No streaming list, a paged one follows", "err", err)
	}
	return l.r.follow(ctx, kind, l.asked, err)
}

func (r *Reflector[T]) listingPaged() *state[T] {
	return &state[T]{name: ListingPaged, step: r.listPaged}
}

// listPaged fetches a list. The server's watch cache serves a list at a known version only if it has no limit. So that
// has one only if there is no watch cache. At any version, a watch cache ignores the limit.
func (r *Reflector[T]) listPaged(ctx context.Context) *state[T] {
	started := time.Now()
	asked := cmp.Or(r.version, anyVersion)
	if r.askLatest {
		asked = latestVersion
	}
	pageSize := r.opts.PageSize
	if pageSize == 0 && (r.noWatchCache || !isKnown(asked)) {
		pageSize = 500
	}
	pages := pager[T]{ListerWatcher: r.lw}
	list, err := listwatch.ListAll(ctx, &pages, metav1.ListOptions{ResourceVersion: asked}, pageSize)
	if ctx.Err() != nil {
		return stopped[T]()
	}
	if err != nil {
		return r.follow(ctx, kindOf(err), asked, err)
	}
	if asked == anyVersion && pages.fetched > 1 {
		r.noWatchCache = true
	}
	if pages.versionless {
		list.ResourceVersion = noVersion
	}
	for _, bad := range list.Bad {
		r.report(ctx, bad)
	}
	r.update(func() { r.stats.PagedLists++ })
	r.replace(ctx, list, time.Since(started))
	return r.connecting()
}

// pager counts pages. Some test doubles send pages without a version, which ListAll refuses: they get anyVersion.
type pager[T listwatch.Object] struct {
	listwatch.ListerWatcher[T]
	fetched     int
	versionless bool
}

// List asks for a page.
func (p *pager[T]) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.List[T], error) {
	p.fetched++
	page, err := p.ListerWatcher.List(ctx, opts)
	if err == nil && page.ResourceVersion == noVersion {
		p.versionless = true
		page.ResourceVersion = anyVersion
	}
	return page, err
}
