package listwatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch/wire"
)

// ErrNoResourceVersion is a list that does not say which moment it shows: nothing could be watched from there.
var ErrNoResourceVersion = errors.New("the list has no resourceVersion")

// List returns one page. It waits for the rate limiter of the REST client, then for the whole answer. An answer other
// than 200 is an *apierrors.StatusError; it is not retried here. Items that cannot be read are in List.Bad.
func (c *Client[T]) List(ctx context.Context, opts metav1.ListOptions) (*List[T], error) {
	opts.Watch = false
	if limiter := c.rest.GetRateLimiter(); limiter != nil {
		if err := limiter.Wait(ctx); err != nil {
			return nil, fmt.Errorf("list %s: rate limiter: %w", c.resource, err)
		}
	}
	resp, err := c.send(ctx, c.listHTTP, opts)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	list, err := c.ReadList(resp)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", c.resource, err)
	}
	return list, nil
}

// ReadList reads an answer to a list. It is for callers that send their requests by themselves. It does not close resp.
func (c *Client[T]) ReadList(resp *http.Response) (*List[T], error) {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("the answer broke off after %d bytes: %w", len(body), err)
	}
	format, err := wire.FormatOf(resp.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	return decodeList(format, c.codec, body)
}

// decodeList decodes each item into memory of its own. So a bad item costs only itself, and keeping one item does not
// keep the page.
func decodeList[T Object](format wire.Format, codec *codec[T], body []byte) (*List[T], error) {
	parts, err := format.List(body)
	if err == nil {
		err = codec.checkList(parts.TypeMeta)
	}
	if err != nil {
		return nil, err
	}
	if parts.ResourceVersion == "" {
		return nil, ErrNoResourceVersion
	}
	list := &List[T]{
		ResourceVersion:    parts.ResourceVersion,
		Continue:           parts.Continue,
		RemainingItemCount: parts.RemainingItemCount,
		Items:              make([]T, 0, len(parts.Items)),
	}
	for _, item := range parts.Items {
		obj, err := codec.decode(item, parts.Kind)
		switch {
		case err == nil:
			list.Items = append(list.Items, obj)
		case err != errForeign:
			list.Bad = append(list.Bad, unreadable(0, item, err))
		}
	}
	return list, nil
}
