package lens

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/json"
)

// Attached shows another program. It finds out which one that is: an ingress controller with --lens-addr, for which the
// page is served here, or one with a handler of package lens, whose own page is passed on.
type Attached struct {
	target *url.URL
	token  string // for the program; may be empty

	mu    sync.Mutex
	shows http.Handler // nil until the program has answered
}

// Attach shows the program at target: scheme, host, and the path of its page if it has its own.
func Attach(target *url.URL, token string) *Attached { return &Attached{target: target, token: token} }

// ErrNoAnswer is that nothing answers. The program may yet be started.
var ErrNoAnswer = errors.New("the program that is looked at does not answer")

// ServeHTTP implements http.Handler.
func (a *Attached) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := a.Find(r.Context()); err != nil {
		http.Error(w, "502: "+err.Error(), http.StatusBadGateway)
		return
	}
	a.shows.ServeHTTP(w, r)
}

// Find finds out which program it is, unless that is known. The error is ErrNoAnswer, or says what came.
func (a *Attached) Find(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shows != nil {
		return nil
	}
	hasPage, came, err := a.ask(ctx, a.target, "informers")
	hasEvents := false
	if err == nil && !hasPage && strings.Trim(a.target.Path, "/") == "" {
		hasEvents, _, err = a.ask(ctx, a.target.JoinPath("api", "snapshot"), "gate")
	}
	var network net.Error
	switch {
	case errors.As(err, &network) || errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", ErrNoAnswer, err)
	case err != nil:
		came = err.Error()
	case hasPage || hasEvents:
		a.shows = a.proxy(hasPage)
		return nil
	}
	return fmt.Errorf("%s: want the page of a lens.Handler, or an ingress controller's --lens-addr; got %s", a.target.Redacted(), came)
}

// ask reports whether JSON with this field comes from an address, and what came.
func (a *Attached) ask(ctx context.Context, u *url.URL, field string) (isThere bool, came string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String()+"?key=-", nil) // one key is enough
	if err != nil {
		return false, "", err
	}
	r.Close = true
	r.Header.Set("Accept", "application/json")
	a.setToken(r.Header)
	answer, err := http.DefaultTransport.RoundTrip(r) // it follows no redirects
	if err != nil {
		return false, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	var fields map[string]any
	if json.Unmarshal(text, &fields) != nil {
		fields = nil
	}
	_, isThere = fields[field]
	return isThere, fmt.Sprintf("%s, %q", answer.Status, text[:min(len(text), 80)]), err
}

// setToken sends the program's token, and not that of this page.
func (a *Attached) setToken(header http.Header) {
	header.Del("Authorization")
	if a.token != "" {
		header.Set("Authorization", "Bearer "+a.token)
	}
}

func (a *Attached) proxy(hasPage bool) http.Handler {
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1, // each event at once
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(a.target)
			if hasPage {
				r.Out.URL.Path, r.Out.URL.RawPath = a.target.Path, a.target.RawPath
			}
			for _, name := range []string{"Cookie", "Origin", "Referer", "Sec-Fetch-Site"} { // they are about this page: see look.Guard
				r.Out.Header.Del(name)
			}
			a.setToken(r.Out.Header)
		},
		// The page says that the program has ended. It asks each second, which the terminal need not tell.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, fmt.Sprintf("502: %v: %v", ErrNoAnswer, err), http.StatusBadGateway)
		},
	}
	mux := http.NewServeMux()
	if hasPage {
		mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Del("Content-Security-Policy") // it comes with its own, which allows its style and its forms
			proxy.ServeHTTP(w, r)
		})
		return mux
	}
	for _, path := range []string{"GET /stream", "GET /api/", "POST /act/"} {
		mux.Handle(path, proxy)
	}
	return withPage(mux)
}
