package listwatch

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"glasswatch/listwatch/wire"
)

// optionsVersion is the version whose ListOptions are written into URLs. They are the same in every group, and a custom
// resource has no group of its own in the scheme.
var optionsVersion = schema.GroupVersion{Version: "v1"}

// send asks for the list or the watch that opts describe. The caller closes the body of the answer, which is a 200.
func (c *Client[T]) send(
	ctx context.Context, httpClient *http.Client, opts metav1.ListOptions,
) (*http.Response, error) {
	if opts.ShardSelector != "" {
		return nil, fmt.Errorf("listwatch: shard selector %q of a call: set Options.Shard instead", opts.ShardSelector)
	}
	verb, accept, builder := "list", c.codec.acceptList, c.rest.Get()
	if opts.Watch {
		verb, accept = "watch", c.codec.acceptWatch
		builder = builder.Timeout(0) // else the client's timeout becomes a parameter of the URL, and ends the watch
	}
	resp, err := get(ctx, httpClient, c.url(builder, opts), cmp.Or(c.opts.Accept, accept))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, c.resource, err)
	}
	c.warn(ctx, resp.Header)
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, wire.ResponseError(resp, verb, c.resource)
}

func get(ctx context.Context, client *http.Client, to *rest.Request, accept string) (*http.Response, error) {
	if err := to.Error(); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.URL().String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	return client.Do(req)
}

// labelSpace is what the parser of label selectors skips. A selector of nothing but space selects everything, but is an
// error behind a comma.
const labelSpace = " \t\r\n"

// bothSelectors joins two selectors: in both kinds a comma means and. No comma is cut off: one at the end may be
// escaped, and part of a value. A selector of nothing but space is none.
func bothSelectors(a, b, space string) string {
	switch {
	case strings.Trim(a, space) == "":
		return b
	case strings.Trim(b, space) == "":
		return a
	}
	return a + "," + b
}

// Source says what the client lists and watches: the path of its URL, with version, resource and namespace, and its
// selectors. What package resume keeps on disk is only of use to a client with the same Source on the same cluster.
func (c *Client[T]) Source() string {
	return c.url(c.rest.Get().Timeout(0), metav1.ListOptions{}).URL().RequestURI()
}

// url adds the client's own selectors to those of a call.
func (c *Client[T]) url(request *rest.Request, opts metav1.ListOptions) *rest.Request {
	opts.LabelSelector = bothSelectors(c.opts.LabelSelector, opts.LabelSelector, labelSpace)
	opts.FieldSelector = bothSelectors(c.opts.FieldSelector, opts.FieldSelector, "")
	opts.ShardSelector = c.opts.Shard.String()
	return request.Namespace(c.opts.Namespace).Resource(c.resource.Resource).
		SpecificallyVersionedParams(&opts, scheme.ParameterCodec, optionsVersion)
}

func (c *Client[T]) warn(ctx context.Context, header http.Header) {
	warnings, _ := utilnet.ParseWarningHeaders(header["Warning"])
	for _, w := range warnings {
		c.opts.WarningHandler.HandleWarningHeaderWithContext(ctx, w.Code, w.Agent, w.Text)
	}
}

type warningsWithoutContext struct{ handler rest.WarningHandler }

func (w warningsWithoutContext) HandleWarningHeaderWithContext(_ context.Context, code int, agent, text string) {
	w.handler.HandleWarningHeader(code, agent, text)
}
