package reflector

import (
	"cmp"
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

// listPaged is ListingPaged. The first list is at "0", any version. A watch cache serves a list at a known version only
// if it has no limit. At "0" it ignores the limit.
func (r *Reflector[T]) listPaged(ctx context.Context) State {
	r.listStart = time.Now()
	version := cmp.Or(r.version, "0")
	if r.askLatest {
		version = ""
	}
	var pageSize int64
	if r.paginates || version == "" || version == "0" {
		pageSize = defaultPageSize
	}
	pages := pageCounter[T]{ListerWatcher: r.lw}
	opts := metav1.ListOptions{ResourceVersion: version}
	list, err := listwatch.ListAll(ctx, &pages, opts, cmp.Or(r.opts.PageSize, pageSize))
	if ctx.Err() != nil {
		return Stopped
	}
	if err != nil {
		r.fail(ctx, "list", err)
		kind := kindOf(err)
		// An unsupported request may be one for a version that this server cannot read.
		if version != "" && (kind == kindExpired || kind == kindAhead || kind == kindUnsupported) {
			r.askLatest = true
			return ListingPaged
		}
		return r.backOff(err, r.listing())
	}
	r.paginates = r.paginates || version == "0" && pages.fetched > 1
	if pages.versionless {
		list.ResourceVersion = ""
	}
	for _, bad := range list.Bad {
		r.report(ctx, bad)
	}
	r.replace(ctx, &r.stats.PagedLists, list)
	return Connecting
}

// pageCounter counts pages, and lets ListAll accept pages without a resourceVersion, as some test doubles send.
type pageCounter[T listwatch.Object] struct {
	listwatch.ListerWatcher[T]
	fetched     int
	versionless bool
}

// List asks for a page. One without a resourceVersion gets "0", which means any.
func (c *pageCounter[T]) List(ctx context.Context, opts metav1.ListOptions) (*listwatch.List[T], error) {
	c.fetched++
	page, err := c.ListerWatcher.List(ctx, opts)
	if err == nil && page.ResourceVersion == "" {
		c.versionless, page.ResourceVersion = true, "0"
	}
	return page, err
}

// replace gives the sink a list, streamed or paged. Its version is the truth even if it is older than the one before.
// The list is counted first, so that a goroutine that learns of it from the sink finds it in Stats.
func (r *Reflector[T]) replace(ctx context.Context, kind *uint64, list *listwatch.List[T]) {
	objects, took := len(list.Items)+len(list.Bad), time.Since(r.listStart)
	r.update(func() {
		*kind++
		r.stats.ListedObjects += uint64(objects)
		r.stats.ListTime += took
	})
	if r.opts.OnList != nil {
		r.opts.OnList(objects, took)
	}
	var keep []listwatch.Key
	for _, bad := range list.Bad {
		if bad.Key != (listwatch.Key{}) {
			keep = append(keep, bad.Key)
		}
	}
	version := list.ResourceVersion
	if r.opts.Observe != nil {
		keys := slices.Clone(keep)
		for _, obj := range list.Items {
			keys = append(keys, listwatch.KeyOf(obj))
		}
		r.observe(Observation{Boundary: HandedOver, Op: "Replace", Keys: keys, ResourceVersion: version})
	}
	r.checkSink(ctx, "Replace", listwatch.Key{}, r.sink.Replace(list.Items, keep, version))
	r.askLatest = false
	r.update(func() { r.version = version })
}
