package reflector

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/keys"
	"glasswatch/internal/rv"
	"glasswatch/listwatch"
)

// streamingList is what ListingStreaming needs once the server has answered.
type streamingList[T listwatch.Object] struct {
	r       *Reflector[T]
	stream  *stream[T]
	initial map[listwatch.Key]T // the objects that are there, after the events so far
	newest  string              // the newest version of a Modified or Deleted. Added ones come in no order.
}

// openList asks for a streaming list.
func (r *Reflector[T]) openList(ctx context.Context) *state[T] {
	s, err := r.openStream(ctx, metav1.ListOptions{
		SendInitialEvents:    new(true),
		ResourceVersion:      r.versionFor(ListingStreaming),
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}, r.opts.SilenceTimeout)
	if err != nil {
		return r.streamingListFailed(ctx, err)
	}
	l := &streamingList[T]{r: r, stream: s, initial: map[listwatch.Key]T{}}
	return &state[T]{name: ListingStreaming, step: l.step, stream: s}
}

// step takes one event.
func (l *streamingList[T]) step(ctx context.Context) *state[T] {
	events, err := l.r.nextEvents(l.stream)
	if err != nil {
		return l.r.streamingListFailed(ctx, err)
	}
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
		return l.r.streamingListFailed(ctx, ErrEndedEarly) // as if there had been no end
	}
	r, took := l.r, time.Since(l.stream.opened)
	l.stream.setDeadline(r.opts.watchDeadline())
	r.log(ctx, 4, "Initial events are complete", "totalItems", l.stream.events, "duration", took)
	r.update(func() { r.stats.StreamingLists++ })
	list := l.list(version)
	l.initial = nil // so that it can be collected
	err := r.replace(ctx, list, took)
	if err != nil {
		return r.streamingListFailed(ctx, err)
	}
	l.stream.useful = true
	return r.watching(l.stream)
}

// list returns what was gathered, sorted by namespace and name.
func (l *streamingList[T]) list(version string) *listwatch.List[T] {
	if rv.IsOlder(version, l.newest) { // changes overtook the bookmark
		version = l.newest
	}
	items := slices.SortedFunc(maps.Values(l.initial), keys.CompareObjects[T])
	return &listwatch.List[T]{Items: items, ResourceVersion: version}
}

// streamingListFailed follows an error, and says what it means for a streaming list.
func (r *Reflector[T]) streamingListFailed(ctx context.Context, err error) *state[T] {
	switch kindOf(err) {
	case kindEnded:
		err = ErrEndedEarly
	case kindUnanswered, kindOverdue:
		err = fmt.Errorf("%w: %w", ErrSilent, err)
	case kindUnsupported:
		r.log(ctx, 4, "No streaming list, a paged one follows", "err", err)
	}
	return r.follow(ctx, err)
}

// listPaged fetches a list and gives it to the sink: ListingPaged is one step.
func (r *Reflector[T]) listPaged(ctx context.Context) *state[T] {
	started := time.Now()
	version := r.versionFor(ListingPaged)
	pages := pager[T]{ListerWatcher: r.lw}
	list, err := listwatch.ListAll(ctx, &pages, metav1.ListOptions{ResourceVersion: version}, r.pageSizeFor(version))
	if ctx.Err() != nil {
		return stopped[T]()
	}
	if err != nil {
		return r.follow(ctx, err)
	}
	if version == anyVersion && pages.fetched > 1 {
		r.noWatchCache = true
	}
	if pages.versionless {
		list.ResourceVersion = noVersion
	}
	for _, bad := range list.Bad {
		r.report(ctx, bad)
	}
	r.update(func() { r.stats.PagedLists++ })
	err = r.replace(ctx, list, time.Since(started))
	if err != nil {
		return r.follow(ctx, err)
	}
	return r.newState(Connecting)
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
