package pitfalls

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver/apiservertest"
)

// inCluster leads to the API server of startCluster, over its pipes.
var inCluster = &url.URL{Scheme: "http", Host: "cluster", Path: "/"}

// ask sends one request to a handler, with a token if that is not empty.
func ask(handler http.Handler, path, token string, header ...string) *httptest.ResponseRecorder {
	request, answer := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	handler.ServeHTTP(answer, request)
	return answer
}

// A web service answers from a lister whose informer was never started, or has not synced.
//
// Why: a lister reads what the store has, and the store has nothing. There is no error: the answer is a success with an
// empty list. Whoever reads it takes the cluster for empty.
//
// You see: 200 with 0 ConfigMaps, of a cluster that has 1
//
// Instead: start the informer when it is first asked for, and answer 503 with Retry-After until it has synced.
func TestPitfall_ServingFromAnInformerThatHasNotSynced(t *testing.T) {
	naive := func(_ context.Context, factory informers.SharedInformerFactory) http.HandlerFunc {
		lister := factory.Core().V1().ConfigMaps().Lister()
		return func(w http.ResponseWriter, _ *http.Request) {
			all, _ := lister.List(everything)
			fmt.Fprint(w, len(all))
		}
	}
	right := func(ctx context.Context, factory informers.SharedInformerFactory) http.HandlerFunc {
		informer := factory.Core().V1().ConfigMaps()
		isSynced := informer.Informer().HasSynced
		factory.StartWithContext(ctx)
		return func(w http.ResponseWriter, _ *http.Request) {
			if !isSynced() {
				w.Header().Set("Retry-After", "1")
				http.Error(w, "the first list is not complete", http.StatusServiceUnavailable)
				return
			}
			all, _ := informer.Lister().List(everything)
			fmt.Fprint(w, len(all))
		}
	}
	type server = func(context.Context, informers.SharedInformerFactory) http.HandlerFunc
	property := func(t *testing.T, serve server) error {
		c := startCluster(t)
		c.Put("web", "1")
		factory := informers.NewSharedInformerFactory(c.Client, 0)
		ctx, cancel := context.WithCancel(context.Background())
		defer factory.Shutdown()
		defer cancel()
		handler := serve(ctx, factory)
		for {
			switch answer := ask(handler, "/", ""); {
			case answer.Code != http.StatusOK:
				apiservertest.Pass(time.Second)
			case answer.Body.String() != "1":
				return fmt.Errorf("%d with %s ConfigMaps, of a cluster that has 1", answer.Code, answer.Body)
			default:
				return nil
			}
		}
	}
	contrast(t, property, naive, right)
}

// A web service makes a transport for each request that it passes on.
//
// Why: a transport keeps its connections open for the next request. The next request has another transport. So each
// request leaves a connection and two goroutines behind, here and at the API server.
//
// You see: 20 requests, one after the other, left 20 connections open
//
// Instead: make one transport, or one client, at the start. All requests share its connections.
func TestPitfall_ATransportForEachRequest(t *testing.T) {
	naive := func(config *rest.Config, target *url.URL) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			transport := &http.Transport{DialContext: config.Dial}
			handler := proxy.NewUpgradeAwareHandler(target, transport, false, false, respond{})
			handler.UseRequestLocation = true
			handler.ServeHTTP(w, r)
		})
	}
	right := func(config *rest.Config, target *url.URL) http.Handler {
		transport := &http.Transport{DialContext: config.Dial}
		handler := proxy.NewUpgradeAwareHandler(target, transport, false, false, respond{})
		handler.UseRequestLocation = true
		return handler
	}
	property := func(t *testing.T, serve func(*rest.Config, *url.URL) http.Handler) error {
		c, open := startCluster(t), &atomic.Int64{}
		config := rest.CopyConfig(c.Config)
		config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := c.Config.Dial(ctx, network, address)
			open.Add(1)
			return &counted{conn, open}, err
		}
		handler := serve(config, inCluster)
		for range 20 {
			require.Equal(t, http.StatusOK, ask(handler, "/api/v1/namespaces", "").Code)
		}
		apiservertest.Pass(time.Hour)
		if n := open.Load(); n > 1 {
			return fmt.Errorf("20 requests, one after the other, left %d connections open", n)
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// counted is an open connection.
type counted struct {
	net.Conn
	open *atomic.Int64
}

func (c *counted) Close() error {
	c.open.Add(-1)
	return c.Conn.Close()
}

// respond reports errors of a proxy to its caller.
type respond struct{}

func (respond) Error(w http.ResponseWriter, _ *http.Request, err error) {
	http.Error(w, err.Error(), http.StatusBadGateway)
}

// A web service passes requests on to the API server with its own credentials, and asks its callers for none.
//
// Why: whoever reaches the port then has the rights of the service: a web page in the user's browser, another user of
// the machine, another Pod. The rights of a service account are often those to read all Secrets.
//
// You see: a caller without a token got 200, as Bearer admin
//
// Instead: want a token from the caller, before anything is passed on. Better still, pass the caller's own token on to
// the API server, and none of the service's.
func TestPitfall_AProxyThatLendsItsCredentials(t *testing.T) {
	naive := func(toServer http.Handler, _ string) http.Handler {
		return toServer
	}
	right := func(toServer http.Handler, token string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+token {
				http.Error(w, "want a bearer token", http.StatusUnauthorized)
				return
			}
			r.Header.Del("Authorization")
			toServer.ServeHTTP(w, r)
		})
	}
	property := func(t *testing.T, guard func(toServer http.Handler, token string) http.Handler) error {
		c := startCluster(t)
		var as notes
		plain := sender(func(r *http.Request) (*http.Response, error) {
			as.add("%s", r.Header.Get("Authorization"))
			return (&http.Transport{DialContext: c.Config.Dial, DisableKeepAlives: true}).RoundTrip(r)
		})
		transport, err := rest.HTTPWrappersForConfig(&rest.Config{BearerToken: "admin"}, plain)
		require.NoError(t, err)
		toServer := proxy.NewUpgradeAwareHandler(inCluster, transport, false, false, respond{})
		toServer.UseRequestLocation = true
		handler := guard(toServer, "secret")
		if answer := ask(handler, "/api/v1/secrets", ""); answer.Code == http.StatusOK {
			return fmt.Errorf("a caller without a token got %d, as %s", answer.Code, strings.Join(as.all(), ", "))
		}
		require.Empty(t, as.all())
		require.Equal(t, http.StatusOK, ask(handler, "/api/v1/secrets", "secret").Code)
		require.Equal(t, []string{"Bearer admin"}, as.all())
		return nil
	}
	contrast(t, property, naive, right)
}

type sender func(*http.Request) (*http.Response, error)

func (f sender) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A path has a part for the API group, and the part is empty for the core group.
//
// Why: the core group has no name. Two slashes in a row are one in the eyes of routers and proxies, which redirect or
// clean the path. What is left has too few parts for the route, so Pods and Services cannot be asked for at all.
//
// You see: GET /pods//v1: 307 to /pods/v1
//
// Instead: write a word for the core group, such as core, and turn it into the empty name behind the router.
func TestPitfall_AnEmptyGroupInAPath(t *testing.T) {
	naive := func(gvr schema.GroupVersionResource) (path string) {
		return "/" + gvr.Resource + "/" + gvr.Group + "/" + gvr.Version
	}
	right := func(gvr schema.GroupVersionResource) (path string) {
		group := gvr.Group
		if group == "" {
			group = "core"
		}
		return "/" + gvr.Resource + "/" + group + "/" + gvr.Version
	}
	property := func(_ *testing.T, pathOf func(schema.GroupVersionResource) string) error {
		router := http.NewServeMux()
		router.HandleFunc("/{resource}/{group}/{version}", func(http.ResponseWriter, *http.Request) {})
		path := pathOf(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
		if answer := ask(router, path, ""); answer.Code != http.StatusOK {
			return fmt.Errorf("GET %s: %d to %s", path, answer.Code, answer.Header().Get("Location"))
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// A proxy is made with apimachinery's UpgradeAwareHandler, and without a responder.
//
// Why: the responder is an argument of the constructor that may be nil. Requests succeed without it, and errors of
// plain requests get a default answer. But an error of a request for an upgrade (exec, attach, port-forward) goes to
// the responder without a check. net/http survives the panic, but the caller sees a broken connection and no error.
//
// You see: panic: runtime error: invalid memory address or nil pointer dereference
//
// Instead: give it a responder, which writes the error's status to the caller.
func TestPitfall_AProxyWithoutAResponder(t *testing.T) {
	naive := func() proxy.ErrorResponder {
		return nil
	}
	right := func() proxy.ErrorResponder {
		return respond{}
	}
	property := func(t *testing.T, responder func() proxy.ErrorResponder) (err error) {
		refused := sender(func(*http.Request) (*http.Response, error) {
			return nil, apierrors.NewServiceUnavailable("the API server is down")
		})
		handler := proxy.NewUpgradeAwareHandler(inCluster, refused, false, false, responder())
		handler.UpgradeTransport = proxy.NewUpgradeRequestRoundTripper(refused, refused)
		defer func() {
			if cause := recover(); cause != nil {
				err = fmt.Errorf("panic: %v", cause)
			}
		}()
		answer := ask(handler, "/api/v1/namespaces/a/pods/b/exec", "", "Connection", "Upgrade", "Upgrade", "SPDY/3.1")
		require.Equal(t, http.StatusBadGateway, answer.Code)
		return nil
	}
	contrast(t, property, naive, right)
}
