package reflector

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

// pages is a paged list under way.
type pages[T listwatch.Object] struct {
	requested string             // the resourceVersion that the list was started with
	opts      metav1.ListOptions // of the next page
	fetched   int
	full      bool // a token expired, and everything is asked for at once
	list      listwatch.List[T]
}

// listPaged is ListingPaged: one page a step.
func (r *Reflector[T]) listPaged(ctx context.Context) State {
	if r.run.pages == nil {
		r.run.pages = r.startPages()
	}
	p := r.run.pages
	page, err := r.lw.List(ctx, p.opts)
	if err != nil {
		return r.leavePagedList(ctx, err)
	}
	for _, bad := range page.Bad {
		r.reportBad(ctx, bad)
	}
	if page.Continue != "" && page.Continue == p.opts.Continue {
		return r.leavePagedList(ctx, errRepeatedToken)
	}
	p.add(page)
	if page.Continue != "" {
		return ListingPaged
	}
	return r.endPagedList(ctx)
}

func (r *Reflector[T]) startPages() *pages[T] {
	version := r.listVersion()
	r.run.listStart = time.Now()
	return &pages[T]{requested: version, opts: metav1.ListOptions{ResourceVersion: version, Limit: r.pageLimit(version)}}
}

// listVersion is the resourceVersion of a paged list: any at first, which a watch cache can serve; then none older than
// what was seen, so as not to go back in time; the latest, if the server does not have that.
func (r *Reflector[T]) listVersion() string {
	if r.run.atLatest {
		return ""
	}
	if version := r.LastSyncResourceVersion(); version != "" {
		return version
	}
	return "0"
}

// pageLimit is the size of pages at version, or 0 for none. A watch cache serves a list at a known version only if it has
// no limit, and ignores the limit at "0".
func (r *Reflector[T]) pageLimit(version string) int64 {
	switch {
	case r.opts.PageSize != 0:
		return r.opts.PageSize
	case r.run.paginates, version == "", version == "0":
		return DefaultPageSize
	}
	return 0
}

// add takes a page over and aims at the one after it.
func (p *pages[T]) add(page *listwatch.List[T]) {
	p.fetched++
	if p.fetched == 1 {
		p.list = *page
	} else {
		p.list.Items = append(p.list.Items, page.Items...)
		p.list.Bad = append(p.list.Bad, page.Bad...)
	}
	p.opts.Continue = page.Continue
	p.opts.ResourceVersion = "" // a server refuses it next to a token, which has one in it
}

// endPagedList gives the sink the list.
func (r *Reflector[T]) endPagedList(ctx context.Context) State {
	p := r.run.pages
	r.run.pages = nil
	if p.requested == "0" && p.fetched > 1 {
		r.run.paginates = true
	}
	keep, nameless := p.present()
	if nameless && !r.run.relisted {
		// Whose it is stays unknown, and the list would tell the sink that it is gone. Unlike a bad object, garbage on the
		// way is gone the second time.
		r.run.relisted = true
		r.fail(ctx, r.wrap("list", errNamelessItem))
		return r.backOff(errNamelessItem, ListingPaged)
	}
	r.counters.pagedLists.Add(1)
	r.replace(ctx, p.list.Items, keep, p.list.ResourceVersion)
	return Connecting
}

// present are the items that could not be read; nameless if there are some that do not even tell whose they are.
func (p *pages[T]) present() (keep []listwatch.Key, nameless bool) {
	for _, bad := range p.list.Bad {
		if bad.Key == (listwatch.Key{}) {
			nameless = true
		} else {
			keep = append(keep, bad.Key)
		}
	}
	return keep, nameless
}

// leavePagedList decides what follows a page that did not come.
func (r *Reflector[T]) leavePagedList(ctx context.Context, err error) State {
	p := r.run.pages
	switch {
	case ctx.Err() != nil:
		return Stopped
	case isExpired(err) && p.opts.Continue != "" && !p.full:
		// The list took longer than the server remembers: everything at once, and nothing of what is there.
		r.fail(ctx, r.wrap("list a page", err))
		r.run.pages = &pages[T]{requested: p.requested, full: true, opts: metav1.ListOptions{ResourceVersion: p.requested}}
		return ListingPaged
	case isUnavailable(err) && p.requested != "":
		r.fail(ctx, r.wrap("list", err))
		r.run.atLatest = true
		r.run.pages = nil
		return ListingPaged
	case isBusy(err) || isOutage(err):
		// The pages that are there stay: if the token has not expired meanwhile, the list goes on where it was.
		r.fail(ctx, r.wrap("list", err))
		if p.fetched > 0 {
			return r.backOff(err, ListingPaged)
		}
	default:
		r.fail(ctx, r.wrap("list", err))
	}
	r.run.pages = nil
	return r.backOff(err, r.listing())
}

// replace gives the sink a whole list. Its version is the truth even if it is an older one than before. The list is counted first:
// who hears from the sink that it is there finds it in Stats.
func (r *Reflector[T]) replace(ctx context.Context, items []T, keep []listwatch.Key, version string) {
	r.listDone(len(items) + len(keep))
	if err := r.sink.Replace(items, keep, version); err != nil {
		r.reportSink(ctx, &SinkError{Op: "Replace", Err: err})
	}
	r.run.atLatest, r.run.relisted = false, false
	r.setVersion(version)
	r.run.synced()
}
