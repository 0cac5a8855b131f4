package listwatch

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/rv"
)

// ListAll lists page by page until there is no more, pageSize objects a page; 0 asks for everything at once. A Limit in
// opts takes precedence over pageSize.
//
// All pages show the moment of the first one, whose resourceVersion the whole list carries. If the server forgets that
// moment while pages are fetched (410 on a continue token), everything is listed once more in one piece, at the
// resourceVersion that opts asked for. A 410 on the first page is returned. So is any 410 after that second start.
func ListAll[T Object](
	ctx context.Context, lw ListerWatcher[T], opts metav1.ListOptions, pageSize int64,
) (*List[T], error) {
	if opts.Limit == 0 {
		opts.Limit = pageSize
	}
	first := opts
	var all *List[T]
	full := false // a token expired, and everything is asked for at once
	for {
		page, err := lw.List(ctx, opts)
		isFirst := opts.Continue == first.Continue
		if rv.IsExpired(err) && !isFirst && !full {
			opts = first
			opts.Limit = 0
			opts.Continue = ""
			all = nil
			full = true
			continue
		}
		if err != nil {
			return nil, err
		}
		if page.ResourceVersion == "" {
			return nil, ErrNoResourceVersion
		}
		if all == nil {
			all = page
		} else {
			all.Items = append(all.Items, page.Items...)
			all.Bad = append(all.Bad, page.Bad...)
		}
		if page.Continue == "" {
			all.Continue, all.RemainingItemCount = "", nil
			return all, nil
		}
		if page.Continue == opts.Continue {
			return nil, fmt.Errorf("list: the server gave the continue token %.40q a second time", page.Continue)
		}
		opts.Continue = page.Continue
		// A continue token implies the resourceVersion, and the server refuses both together.
		opts.ResourceVersion, opts.ResourceVersionMatch = "", ""
	}
}
