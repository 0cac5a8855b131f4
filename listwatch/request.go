package listwatch

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// maxErrorBody bounds what is read of an answer that is an error, in bytes.
const maxErrorBody = 1 << 20

// optionsVersion is the version whose ListOptions are written into URLs. They are the same in every group, and a custom
// resource has no group of its own in the scheme.
var optionsVersion = schema.GroupVersion{Version: "v1"}

// send asks for the list or the watch that opts describe. The caller closes the body of the answer, which is a 200.
func (c *Client[T]) send(ctx context.Context, httpClient *http.Client, opts metav1.ListOptions) (*http.Response, error) {
	verb := "list"
	builder := c.rest.Get()
	if opts.Watch {
		verb = "watch"
		builder = builder.Timeout(0) // else it becomes a parameter of the URL
	}
	builder = builder.Namespace(c.opts.Namespace).Resource(c.resource.Resource).
		SpecificallyVersionedParams(&opts, scheme.ParameterCodec, optionsVersion)
	if err := builder.Error(); err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, c.resource, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, builder.URL().String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, c.resource, err)
	}
	accept := c.opts.Accept
	if accept == "" {
		accept = c.codec.accept(!opts.Watch)
	}
	req.Header.Set("Accept", accept)
	resp, err := httpClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", verb, c.resource, err)
	}
	c.warn(ctx, resp.Header)
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, responseError(resp, verb, c.resource)
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

// responseError makes an error of an answer that is not a 200: of the Status in its body if there is one, otherwise of
// its code and text.
func responseError(resp *http.Response, verb string, resource schema.GroupResource) *apierrors.StatusError {
	body, readErr := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	retryAfter := retryAfterSeconds(resp.Header.Get("Retry-After"))
	if status := statusIn(body); status != nil {
		if status.Code == 0 {
			status.Code = int32(resp.StatusCode)
		}
		if retryAfter > 0 {
			if status.Details == nil {
				status.Details = &metav1.StatusDetails{}
			}
			if status.Details.RetryAfterSeconds == 0 {
				status.Details.RetryAfterSeconds = int32(retryAfter)
			}
		}
		return statusError(status)
	}
	const maxText = 2048
	text := string(body[:min(len(body), maxText)])
	if readErr != nil {
		text = fmt.Sprintf("%s (reading on: %v)", text, readErr)
	}
	return apierrors.NewGenericServerResponse(resp.StatusCode, verb, resource, "", text, retryAfter, true)
}

// statusError is what the server said went wrong. Its text is never empty, even if the server had nothing to say.
func statusError(status *metav1.Status) *apierrors.StatusError {
	if status.Message == "" {
		status.Message = fmt.Sprintf("the server answered with code %d, reason %q and no message", status.Code, status.Reason)
	}
	return &apierrors.StatusError{ErrStatus: *status}
}

// statusIn returns the failure that body holds, nil if it holds none. It looks at the body itself: a proxy on the way may
// have set the Content-Type.
func statusIn(body []byte) *metav1.Status {
	var format wireFormat = jsonFormat{}
	if looksLikeProtobuf(body) {
		format = protobufFormat{}
	}
	status, err := format.status(body)
	if err != nil || status.Status == metav1.StatusSuccess {
		return nil
	}
	if status.Status == "" && status.Reason == "" && status.Code == 0 {
		return nil // some other JSON
	}
	return status
}

// retryAfterSeconds reads both forms of the header; 0 if there is none, or if the time it names is over. What it returns
// fits into the int32 of a Status.
func retryAfterSeconds(header string) int {
	if header == "" {
		return 0
	}
	if seconds, err := strconv.Atoi(header); err == nil {
		return min(max(seconds, 0), math.MaxInt32)
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return int(min(max(math.Ceil(time.Until(at).Seconds()), 0), math.MaxInt32))
}
