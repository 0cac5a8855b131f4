package look

import (
	"context"
	"net/http"
	"path"

	"glasswatch/listwatch"
)

// Transport reports the requests of a pipeline when their answers begin: those of informers at Request, those of a
// reconciler, which names its key with [WithKey], at Written. It does not report what else is written.
type Transport struct {
	Next  http.RoundTripper
	Hub   *Hub
	Kinds map[string]string // by resource
	// Patient: a request for a key never ends with its context, for its time must not run out while somebody looks on.
	Patient bool
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	query, ctx := r.URL.Query(), r.Context()
	e := Event{At: Request, Kind: t.Kinds[path.Base(r.URL.Path)], Action: "LIST", RV: query.Get("resourceVersion")}
	switch key, writes := ctx.Value(keyName{}).(listwatch.Key); {
	case writes:
		e = Event{At: Written, Kind: "Ingress", Action: r.Method, Key: NameOf(key)}
		if t.Patient {
			ctx = context.WithoutCancel(ctx)
		}
	case r.Method != http.MethodGet:
		return t.Next.RoundTrip(r)
	case query.Get("watch") != "":
		e.Action, e.Initial = "WATCH", query.Get("sendInitialEvents") == "true"
	}
	answer, err := t.Next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		e.Error = err.Error()
	} else if e.Code = answer.StatusCode; e.Code >= 400 {
		e.Error = http.StatusText(e.Code)
	}
	t.Hub.Report(e)
	return answer, err
}

// keyName is the name, in a context, of the key that is reconciled.
type keyName struct{}

// WithKey returns a context whose requests are known to be for a key: a POST does not say it in its path.
func WithKey(ctx context.Context, key listwatch.Key) context.Context {
	return context.WithValue(ctx, keyName{}, key)
}
