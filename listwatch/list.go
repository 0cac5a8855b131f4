package listwatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrNoResourceVersion is a list that does not say which moment it shows: nothing could be watched from there.
var ErrNoResourceVersion = errors.New("the list has no resourceVersion")

// List returns one page. It waits for the rate limiter of the REST client, then for the whole answer. An answer other than
// 200 is an *apierrors.StatusError; it is not retried here. Items that cannot be read are in List.Bad, and cost nothing
// but themselves.
func (c *Client[T]) List(ctx context.Context, opts metav1.ListOptions) (*List[T], error) {
	opts = c.merged(opts)
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
	body, err := readBody(resp)
	if err != nil {
		return nil, fmt.Errorf("list %s: the answer broke off after %d bytes: %w", c.resource, len(body), err)
	}
	format, err := formatOf(resp.Header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", c.resource, err)
	}
	list, err := decodeList(format, c.codec, body)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", c.resource, err)
	}
	return list, nil
}

func readBody(resp *http.Response) ([]byte, error) {
	// The length is the server's word; beyond some size the buffer grows with what really comes.
	const maxTrusted = 64 << 20
	var body bytes.Buffer
	if resp.ContentLength > 0 {
		// ReadFrom wants room to find the end without growing.
		body.Grow(int(min(resp.ContentLength, maxTrusted)) + bytes.MinRead)
	}
	_, err := body.ReadFrom(resp.Body)
	if err == io.EOF {
		err = nil
	}
	return body.Bytes(), err
}

// decodeList cuts the list into items and decodes each into memory of its own. So one bad item spoils no other, and
// keeping one item does not keep the page.
func decodeList[T Object](format wireFormat, codec codec[T], body []byte) (*List[T], error) {
	parts, err := format.splitList(body)
	if err != nil {
		return nil, fmt.Errorf("the list cannot be read: %w", err)
	}
	switch kind := string(parts.typeMeta.kind); {
	case kind == "Status":
		if status := statusIn(body); status != nil {
			return nil, statusError(status)
		}
		return nil, errors.New("the server answered with a Status, not with a list")
	case kind == "Table":
		return nil, errTable
	case kind != "" && !strings.HasSuffix(kind, "List") && parts.items == nil:
		return nil, fmt.Errorf("the server answered with a %s, not with a list", parts.typeMeta)
	}
	if err := codec.checkList(parts.typeMeta); err != nil {
		return nil, err
	}
	if parts.meta.ResourceVersion == "" {
		return nil, ErrNoResourceVersion
	}
	list := &List[T]{
		ResourceVersion:    parts.meta.ResourceVersion,
		Continue:           parts.meta.Continue,
		RemainingItemCount: parts.meta.RemainingItemCount,
		Items:              make([]T, 0, len(parts.items)),
	}
	_, isProtobuf := format.(protobufFormat)
	for _, item := range parts.items {
		var obj T
		if isProtobuf {
			obj, err = codec.fromProtobuf(item, typeMeta{})
		} else {
			obj, err = codec.fromJSON(item, parts.typeMeta)
		}
		if err != nil {
			bad := &ObjectError{Err: err}
			bad.Key, bad.ResourceVersion = format.salvage(item, false)
			list.Bad = append(list.Bad, bad)
			continue
		}
		list.Items = append(list.Items, obj)
	}
	return list, nil
}
