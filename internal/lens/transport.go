package lens

import (
	"context"
	"net/http"

	"glasswatch/controller"
	"glasswatch/listwatch"
)

// pipelineAgent tells the requests of the pipeline from those of acts, which nothing delays.
const pipelineAgent = "glasswatch-lens"

// transport is the HTTP transport of the pipeline's clients. It reports each request when its answer begins: those of the
// informers at Request, those of the reconciler at Written.
type transport struct {
	next http.RoundTripper
	hub  *Hub
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	done := r.Context().Done()
	ctx := r.Context()
	if r.Method != http.MethodGet {
		// The reconciler's time must not run out while somebody looks at what it is about to get.
		ctx, done = context.WithoutCancel(ctx), nil
	}
	answer, err := t.next.RoundTrip(r.WithContext(ctx))
	resource, key := target(r.URL.Path)
	e := Event{At: Request, Kind: kindOf[resource], Action: "LIST"}
	switch {
	case isWatch(r):
		e.Action = "WATCH"
	case r.Method != http.MethodGet:
		e.At, e.Action, e.Key = Written, r.Method, nameOf(key)
		if reconciled, ok := r.Context().Value(reconciling{}).(listwatch.Key); ok {
			e.Key = nameOf(reconciled)
		}
	}
	switch {
	case err != nil:
		e.Error = err.Error()
	default:
		if e.Code = answer.StatusCode; e.Code >= 400 {
			e.Error = http.StatusText(e.Code)
		}
	}
	t.hub.report(done, e)
	return answer, err
}

// reconciling is the key of the reconciled key in a context.
type reconciling struct{}

// namesKey is a reconciler whose requests know which key they are for: a POST does not say it in its path.
type namesKey struct {
	next controller.Reconciler[listwatch.Key]
}

func (n namesKey) Reconcile(ctx context.Context, key listwatch.Key) (controller.Result, error) {
	return n.next.Reconcile(context.WithValue(ctx, reconciling{}, key), key)
}
