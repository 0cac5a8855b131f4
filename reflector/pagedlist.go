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
	if r.pages == nil {
		r.pages = r.startPages()
	}
	p := r.pages
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
	r.listStart = time.Now()
	return &pages[T]{requested: version, opts: metav1.ListOptions{ResourceVersion: version, Limit: r.pageLimit(version)}}
}

// listVersion is the resourceVersion of a paged list. The first is "0": any version, which a watch cache can serve. Later
// ones must not be older than what was seen. If the server does not have that version, the latest is asked for.
func (r *Reflector[T]) listVersion() string {
	if r.atLatest {
		return ""
	}
	if version := r.version; version != "" {
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
	case r.paginates, version == "", version == "0":
		return defaultPageSize
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
	p := r.pages
	r.pages = nil
	if p.requested == "0" && p.fetched > 1 {
		r.paginates = true
	}
	keep, nameless := p.present()
	if nameless && !r.relisted {
		// Nobody can tell whose the item is, and without it the list would tell the sink that its object is gone. Garbage
		// on the way, unlike a bad object, is gone the second time.
		r.relisted = true
		r.fail(ctx, "list", errNamelessItem)
		return r.backOff(errNamelessItem, ListingPaged)
	}
	r.listDone(&r.stats.PagedLists, len(p.list.Items)+len(keep))
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
	if ctx.Err() != nil {
		return Stopped
	}
	p := r.pages
	r.pages = nil
	r.fail(ctx, "list", err)
	switch {
	case isExpired(err) && p.opts.Continue != "" && !p.full:
		// The list took longer than the server remembers: everything at once, and nothing of what is there.
		opts := metav1.ListOptions{ResourceVersion: p.requested}
		r.pages = &pages[T]{requested: p.requested, full: true, opts: opts}
		return ListingPaged
	case isUnavailable(err) && p.requested != "":
		r.atLatest = true
		return ListingPaged
	case p.fetched > 0 && (isBusy(err) || isOutage(err)):
		// The pages that are there stay: if the token has not expired meanwhile, the list goes on where it was.
		r.pages = p
		return r.backOff(err, ListingPaged)
	}
	return r.backOff(err, r.listing())
}

// replace gives the sink a whole list. Its version is the truth even if it is older than the one before. The list is
// counted first, so that a goroutine that learns of it from the sink finds it in Stats.
func (r *Reflector[T]) replace(ctx context.Context, items []T, keep []listwatch.Key, version string) {
	r.observeList(items, keep, version)
	r.checkSink(ctx, "Replace", listwatch.Key{}, r.sink.Replace(items, keep, version))
	r.atLatest, r.relisted = false, false
	r.update(func() { r.version = version })
}
