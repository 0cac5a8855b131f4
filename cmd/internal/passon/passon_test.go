package passon

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is an API server that notes what comes, and a handler in front of it.
type stage struct {
	*testing.T
	front *httptest.Server

	mu    sync.Mutex // protects what follows: a body that is too long may be refused while the API server still reads
	came  []*http.Request
	conns map[string]bool // addresses that requests came from
}

func onStage(t *testing.T, o Options) *stage {
	s := &stage{T: t, conns: map[string]bool{}}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.came, s.conns[r.RemoteAddr] = append(s.came, r), true
		s.mu.Unlock()
		if r.Header.Get("Upgrade") != "" {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", r.Header.Get("Upgrade"))
			w.WriteHeader(http.StatusSwitchingProtocols)
			return
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	t.Cleanup(api.Close)
	if o.MaxBody == 0 {
		o.MaxBody = 10
	}
	h, err := New(&rest.Config{Host: api.URL, BearerToken: "the server's own"}, o)
	require.NoError(t, err)
	t.Cleanup(h.Close)
	s.front = httptest.NewServer(h)
	t.Cleanup(s.front.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s
}

// send wants a status, and returns what came to the API server; nil if nothing did.
func (s *stage) send(want int, method, path, body string, header ...string) *http.Request {
	s.Helper()
	s.take()
	r, err := http.NewRequestWithContext(s.Context(), method, s.front.URL+path, strings.NewReader(body))
	require.NoError(s, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r) // follows no redirect
	require.NoError(s, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(s, err)
	answer.Body.Close()
	require.Equal(s, want, answer.StatusCode, "%s %s: %s", method, path, text)
	came := s.take()
	if len(came) == 0 {
		require.Contains(s, string(text), `"kind":"Status"`)
		return nil
	}
	return came[0]
}

// take returns what has come to the API server since the last take.
func (s *stage) take() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	came := s.came
	s.came = nil
	return came
}

func TestOwnCredentials_GoOnWithoutTheCallersWishes(t *testing.T) {
	s := onStage(t, Options{})
	came := s.send(200, "GET", "/api/v1/pods?limit=1", "", "Authorization", "Bearer caller's",
		"Impersonate-User", "root", "Impersonate-Extra-A", "all", "X-Remote-User", "root", "Accept", "application/json")
	require.Equal(t, "/api/v1/pods?limit=1", came.URL.String())
	require.Equal(t, "Bearer the server's own", came.Header.Get("Authorization"))
	require.Equal(t, "application/json", came.Header.Get("Accept"))
	for name := range came.Header {
		require.NotRegexp(t, "^(Impersonate|X-Remote)-", name)
	}
	const times = 20
	for range times {
		s.send(200, "GET", "/api", "")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Less(t, len(s.conns), times, "a connection serves several requests, if not all: net/http gives up one whose request took 50 ms to write")
}

func TestCallersOwnCredentials_GoOnAlone(t *testing.T) {
	s := onStage(t, Options{CallersOwn: true})
	came := s.send(200, "GET", "/api", "", "Authorization", "Bearer caller's")
	require.Equal(t, "Bearer caller's", came.Header.Get("Authorization"))
	require.Empty(t, s.send(200, "GET", "/api", "").Header.Get("Authorization"))
}

func TestRefused_BeforeTheAPIServerHears(t *testing.T) {
	s := onStage(t, Options{})
	all := onStage(t, Options{Writes: true, Secrets: true, Upgrades: true})
	for _, path := range strings.Fields(`secrets secrets/ watch/secrets namespaces/a/secrets namespaces/a/secrets/b
		watch/namespaces/a/secrets/b namespaces/status/secrets namespaces/a/serviceaccounts/b/token 
		namespaces/a/pods/b/exec namespaces/a/pods/b/attach namespaces/a/pods/b/portforward namespaces/a/pods/b/proxy/c 
		namespaces/a/services/b/proxy nodes/a/proxy/run/b/c/d proxy/nodes/a/run %73ecrets`) {
		require.Nil(t, s.send(403, "GET", "/api/v1/"+path, ""))
		require.NotNil(t, all.send(200, "GET", "/api/v1/"+path, ""))
	}
	for _, path := range []string{"/api/v1/x/../secrets", "/api/v1//secrets", "/api/./v1", "/api/v1/namespaces%2Fa"} {
		require.Nil(t, s.send(400, "GET", path, ""))
	}
	for _, path := range strings.Fields(`/api/v1/namespaces/secrets /api/v1/namespaces/secrets/pods /api /apis/apps/v1
		/api/v1/namespaces/a/pods/secrets /apis/example.com/v1/secrets /api/v1/namespaces/a/pods/b/log
		/api/v1/namespaces/a/status`) {
		require.NotNil(t, s.send(200, "GET", path, ""))
	}
	require.Nil(t, s.send(403, "GET", "/api/v1/pods", "", "Upgrade", "websocket", "Connection", "Upgrade"))
	require.Nil(t, s.send(403, "DELETE", "/api/v1/namespaces/a/pods/b", ""))
	require.NotNil(t, all.send(200, "POST", "/api/v1/namespaces/a/pods", "0123456789"))
	all.send(413, "POST", "/api/v1/namespaces/a/pods", "0123456789+")
}

func TestUpgrade_PassesBothWays(t *testing.T) {
	s := onStage(t, Options{Upgrades: true})
	conn, err := net.Dial("tcp", s.front.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /api/v1/namespaces/a/pods/b/exec HTTP/1.1\r\n"+
		"Host: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	answer.Body.Close()
	require.Equal(t, http.StatusSwitchingProtocols, answer.StatusCode)
	require.Equal(t, "Bearer the server's own", s.take()[0].Header.Get("Authorization"))
}

func TestDeadServer_IsA503(t *testing.T) {
	h, err := New(&rest.Config{Host: "http://127.0.0.1:1"}, Options{MaxBody: 1})
	require.NoError(t, err)
	defer h.Close()
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest("GET", "/api", nil))
	require.Equal(t, http.StatusServiceUnavailable, answer.Code)
	require.Contains(t, answer.Body.String(), `"reason":"ServiceUnavailable"`)
}
