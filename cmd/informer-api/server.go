package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/guard"
	"glasswatch/cmd/internal/ondemand"
	"glasswatch/cmd/internal/passon"
)

const (
	maxRequests = 256             // at the same time, watches included; more are refused
	grace       = 5 * time.Second // for requests under way when the shutdown begins
	success     = 20000           // the codes in answers
	failure     = 40000
)

// answer is the body of each answer that is not passed on.
type answer struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// server is the handler, with what its requests share.
type server struct {
	*options
	guard  *guard.Guard
	kinds  *ondemand.Kinds
	passer *passon.Handler
	pages  *ondemand.Pages
	places chan struct{}   // one a request
	ending context.Context // ends when the shutdown begins, and all watches with it
	end    context.CancelFunc
}

func newServer(cfg *rest.Config, o *options) (s *server, err error) {
	s = &server{options: o, pages: ondemand.NewPages(), places: make(chan struct{}, maxRequests)}
	s.ending, s.end = context.WithCancel(context.Background())
	s.guard = guard.One(o.token)
	if o.auth == authReview {
		if s.guard, err = guard.Reviews(cfg); err != nil {
			return nil, err
		}
	}
	s.passer, err = passon.New(cfg, passon.Options{CallersOwn: o.auth == authReview, Writes: o.pass == passAll,
		Secrets: o.secrets, Upgrades: o.upgrade, MaxBody: o.maxBody})
	if err != nil {
		return nil, err
	}
	s.kinds, err = ondemand.New(cfg, ondemand.Options{Max: o.maxKinds, Idle: o.idle})
	return s, err
}

// serve answers on listener until ctx ends. Then watches end at once, requests have some seconds, and informers stop.
func (s *server) serve(ctx context.Context, listener net.Listener) error {
	web := &http.Server{Handler: s.routes(), ReadHeaderTimeout: grace, ReadTimeout: s.timeout,
		WriteTimeout: s.timeout + grace, MaxHeaderBytes: 1 << 16}
	failed := make(chan error, 1)
	go func() {
		if s.tlsCert == "" {
			failed <- web.Serve(listener)
		} else {
			failed <- web.ServeTLS(listener, s.tlsCert, s.tlsKey)
		}
	}()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	s.end()
	patience, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if web.Shutdown(patience) != nil {
		err = errors.Join(err, web.Close())
	}
	s.kinds.Close()
	s.guard.Close()
	s.passer.Close()
	return err
}

// routes: a static route wins over one with parameters. net/http's ServeMux refuses these patterns together, for
// /api/core/v1 fits two of them, and neither is more specific.
func (s *server) routes() http.Handler {
	r := chi.NewRouter()
	r.NotFound(func(w http.ResponseWriter, _ *http.Request) { reply(w, 404, answer{failure, "no such path", nil}) })
	r.MethodNotAllowed(func(w http.ResponseWriter, _ *http.Request) { reply(w, 405, answer{failure, "GET only", nil}) })
	r.Get("/ping", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, answer{success, "pong", nil}) })
	limited := r.With(s.limit) // not /ping: a busy server is alive
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	limited.Get("/pod/list", func(w http.ResponseWriter, r *http.Request) { s.read(w, r, pods) })
	limited.Get("/{resource}/{group}/{version}", func(w http.ResponseWriter, r *http.Request) {
		gvr, err := resourceOf(chi.URLParam(r, "resource"), chi.URLParam(r, "group"), chi.URLParam(r, "version"))
		if err != nil {
			fail(w, err)
			return
		}
		s.read(w, r, gvr)
	})
	passOn := func(w http.ResponseWriter, r *http.Request) {
		if err := s.guard.Admit(r.Context(), guard.Bearer(r)); err != nil {
			passon.Fail(w, err)
			return
		}
		s.passer.ServeHTTP(passon.Stream(w, r), r)
	}
	for _, path := range []string{"/api", "/api/*", "/apis", "/apis/*"} {
		if s.pass != passOff {
			limited.HandleFunc(path, passOn)
		}
	}
	return r
}

// limit bounds the number of requests, and the time of those whose answers have an end.
func (s *server) limit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
		if passon.IsStream(r) {
			cancel()
			ctx, cancel = context.WithCancel(r.Context())
			defer context.AfterFunc(s.ending, cancel)()
		}
		defer cancel()
		select {
		case s.places <- struct{}{}:
			defer func() { <-s.places }()
		default:
			fail(w, apierrors.NewTooManyRequests("too many requests at the same time", 1))
			return
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// statusOf is the status that err has; an error without one is that the API server was not reached.
func statusOf(err error) metav1.Status {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status()
	}
	return apierrors.NewServiceUnavailable(err.Error()).Status()
}

func fail(w http.ResponseWriter, err error) {
	status := statusOf(err)
	switch status.Code {
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	reply(w, int(status.Code), answer{failure, status.Message, nil})
}

// problem is the body of a failure.
func problem(err error) []byte {
	text, _ := json.Marshal(answer{failure, statusOf(err).Message, nil}) // of numbers and strings, which cannot fail
	return text
}

// reply writes JSON. Its only error is that the caller has gone.
func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}
