package lens

import (
	"context"
	"net/http"
	"path"

	"glasswatch/controller"
	"glasswatch/listwatch"
)

// pipelineAgent tells the requests of the pipeline from those of acts, which nothing delays.
const pipelineAgent = "glasswatch-lens"

// transport is the HTTP transport of the pipeline's clients. It reports each request when its answer begins: those of
// the informers at Request, those of the reconciler at Written.
type transport struct {
	next http.RoundTripper
	hub  *Hub
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	e := Event{At: Request, Kind: kindOf[path.Base(r.URL.Path)], Action: "LIST", RV: query.Get("resourceVersion")}
	ctx := r.Context()
	switch key, writes := ctx.Value(reconciling{}).(listwatch.Key); {
	case writes:
		e = Event{At: Written, Kind: "Ingress", Action: r.Method, Key: nameOf(key)}
		// The reconciler's time must not run out while somebody looks at what it is about to get.
		ctx = context.WithoutCancel(ctx)
	case query.Get("watch") != "":
		e.Action = "WATCH"
	}
	answer, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		e.Error = err.Error()
	} else if e.Code = answer.StatusCode; e.Code >= 400 {
		e.Error = http.StatusText(e.Code)
	}
	t.hub.report(e)
	return answer, err
}

// reconciling is the name, in a context, of the key that is reconciled.
type reconciling struct{}

// namesKey is a reconciler whose requests know which key they are for: a POST does not say it in its path.
type namesKey struct {
	next controller.Reconciler[listwatch.Key]
}

func (n namesKey) Reconcile(ctx context.Context, key listwatch.Key) (controller.Result, error) {
	return n.next.Reconcile(context.WithValue(ctx, reconciling{}, key), key)
}
