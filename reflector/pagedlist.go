package reflector

import (
	"cmp"
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
	items     []T
	keep      []listwatch.Key // of items that could not be read
	nameless  bool            // there are items that do not even tell whose they are
}

// listPaged is ListingPaged: one page a step.
func (r *Reflector[T]) listPaged(ctx context.Context) State {
	if r.pages == nil {
		r.pages = r.startPages()
	}
	p := r.pages
	page, err := r.lw.List(ctx, p.opts)
	if err == nil && page.Continue != "" && page.Continue == p.opts.Continue {
		err = errRepeatedToken
	}
	if err != nil {
		return r.leavePagedList(ctx, err)
	}
	for _, bad := range page.Bad {
		r.reportBad(ctx, bad)
		if bad.Key == (listwatch.Key{}) {
			p.nameless = true
		} else {
			p.keep = append(p.keep, bad.Key)
		}
	}
	p.fetched++
	p.items = append(p.items, page.Items...)
	p.opts.Continue = page.Continue
	p.opts.ResourceVersion = "" // a server refuses it next to a token, which has one in it
	if page.Continue != "" {
		return ListingPaged
	}
	return r.endPagedList(ctx, page.ResourceVersion)
}

// startPages decides what to ask for. The first list is at "0": any version, which a watch cache can serve. Later
// ones must not be older than what was seen. If the server does not have that version, the latest is asked for. A
// watch cache serves a list at a known version only without a limit, and ignores the limit at "0".
func (r *Reflector[T]) startPages() *pages[T] {
	version := cmp.Or(r.version, "0")
	if r.atLatest {
		version = ""
	}
	limit := int64(defaultPageSize)
	if !r.paginates && version != "" && version != "0" {
		limit = 0
	}
	limit = cmp.Or(r.opts.PageSize, limit)
	r.listStart = time.Now()
	return &pages[T]{requested: version, opts: metav1.ListOptions{ResourceVersion: version, Limit: limit}}
}

// endPagedList gives the sink the list.
func (r *Reflector[T]) endPagedList(ctx context.Context, version string) State {
	p := r.pages
	r.pages = nil
	if p.requested == "0" && p.fetched > 1 {
		r.paginates = true
	}
	if p.nameless && !r.relisted {
		// Nobody can tell whose the item is, and without it the list would tell the sink that its object is gone.
		// Garbage on the way, unlike a bad object, is gone the second time.
		r.relisted = true
		r.fail(ctx, "list", errNamelessItem)
		return r.backOff(errNamelessItem, ListingPaged)
	}
	r.replace(ctx, &r.stats.PagedLists, p.items, p.keep, version)
	return Connecting
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
func (r *Reflector[T]) replace(ctx context.Context, kind *uint64, items []T, keep []listwatch.Key, version string) {
	r.listDone(kind, len(items)+len(keep))
	r.observeList(items, keep, version)
	r.checkSink(ctx, "Replace", listwatch.Key{}, r.sink.Replace(items, keep, version))
	r.atLatest, r.relisted = false, false
	r.update(func() { r.version = version })
}
