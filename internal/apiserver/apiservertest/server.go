package apiservertest

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"glasswatch/internal/apiserver"
)

// Server is an API server that runs until its test ends. It is also that test, so that its verbs and require can fail it.
type Server struct {
	testing.TB
	*apiserver.Server
	Config *rest.Config // for all clients; copy it before changing it
	Client kubernetes.Interface
	Stop   func() // ends the server before the test ends, and waits for that; may be called again

	mu    sync.Mutex
	asked []string // protected by mu
}

// Start runs a server over pipes.
func Start(t testing.TB, opts apiserver.Options) *Server {
	t.Helper()
	return startOn(t, opts, apiserver.NewPipeListener())
}

// StartOnSocket runs a server on a free loopback port, for other programs.
func StartOnSocket(t testing.TB, opts apiserver.Options) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return startOn(t, opts, listener)
}

// InBubble runs a test with a server in virtual time. test is to use its own t, not the one outside of the bubble.
func InBubble(t *testing.T, opts apiserver.Options, test func(t *testing.T, s *Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, Start(t, opts)) })
}

func startOn(t testing.TB, opts apiserver.Options, listener net.Listener) *Server {
	t.Helper()
	s := &Server{TB: t, Server: apiserver.New(opts), Config: apiserver.RESTConfigFor(listener)}
	s.Stop = Go(t, func(ctx context.Context) error { return s.Serve(ctx, listener) })
	httpClient, err := rest.HTTPClientFor(s.Config)
	require.NoError(t, err)
	t.Cleanup(httpClient.CloseIdleConnections)
	s.Client, err = kubernetes.NewForConfigAndClient(s.Config, httpClient)
	require.NoError(t, err)
	return s
}

// Kubeconfig writes a file that says where the server is, and returns its path. Only a server on a socket can be found so.
func (s *Server) Kubeconfig() string {
	s.Helper()
	const name = "memory"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{Server: s.Config.Host}
	cfg.AuthInfos[name] = &clientcmdapi.AuthInfo{}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	cfg.CurrentContext = name
	path := filepath.Join(s.TempDir(), "kubeconfig")
	require.NoError(s, clientcmd.WriteToFile(*cfg, path))
	return path
}

// Noting returns a client configuration of which Asked tells.
func (s *Server) Noting() *rest.Config {
	cfg := rest.CopyConfig(s.Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return RoundTripper(func(req *http.Request) (*http.Response, error) {
			s.note(req)
			return next.RoundTrip(req)
		})
	})
	return cfg
}

func (s *Server) note(req *http.Request) {
	query, verb := req.URL.Query(), "list"
	switch {
	case req.Method != http.MethodGet:
		return
	case query.Get("sendInitialEvents") != "":
		verb = "streaming list"
	case query.Get("watch") != "":
		verb = "watch"
	case query.Get("limit") == "1":
		verb = "one" // of however many there are: a look at the server's version
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, verb)
}

// Asked returns what clients made with Noting have read since the last call: "list", "streaming list", "watch" or "one".
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// RoundTripper is a function as an http.RoundTripper.
type RoundTripper func(*http.Request) (*http.Response, error)

func (f RoundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
