package lens

import (
	"net/http"
	"net/http/httputil"
	"net/url"
)

// Attach serves the page, and asks another program for the rest: an ingress controller with --lens-addr. The target has
// a scheme and a host.
func Attach(target *url.URL, token string) http.Handler {
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1, // each event at once
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Cookie")
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
		// The page says that the program has ended. It asks each second, which the terminal need not tell.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "502: the program that is looked at does not answer: "+err.Error(), http.StatusBadGateway)
		},
	}
	mux := http.NewServeMux()
	for _, path := range []string{"GET /stream", "GET /api/", "POST /act/"} {
		mux.Handle(path, proxy)
	}
	return withPage(mux)
}
