package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	why "glasswatch/lens"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds the wait for what must happen: long enough for any machine.
const patience = 5 * time.Minute

// opened runs the program until the test ends. It returns the address that was printed, and a client that keeps cookies.
func opened(t *testing.T, args ...string) (address string, ask func(method, url string, header http.Header) *http.Response) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, args, in)
		in.CloseWithError(err)
		ended <- err
	}()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		cancel()
		assert.NoError(t, <-ended)
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	address, found := strings.CutPrefix(strings.TrimSpace(line), "Open ")
	require.True(t, found, line)
	return address, func(method, url string, header http.Header) *http.Response {
		r, err := http.NewRequestWithContext(ctx, method, url, nil)
		require.NoError(t, err)
		maps.Copy(r.Header, header)
		answer, err := client.Do(r)
		require.NoError(t, err)
		return answer
	}
}

func textOf(t *testing.T, answer *http.Response) string {
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}

func TestRun_PrintedAddressOpensThePageAndTheStream(t *testing.T) {
	address, ask := opened(t)
	index := ask("GET", address, nil)
	require.Equal(t, 200, index.StatusCode)
	assert.Contains(t, textOf(t, index), "<script type=\"module\"")
	assert.Empty(t, index.Request.URL.RawQuery, "the token is no longer in the address")
	stream := ask("GET", index.Request.URL.JoinPath("stream").String(), nil)
	require.Equal(t, 200, stream.StatusCode)
	defer stream.Body.Close()
	first, err := bufio.NewReader(stream.Body).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "event: snapshot\n", first)
}

// program is one that serves a lens's handler, and notes what reaches it.
func program(t *testing.T) (l *why.Lens, server *httptest.Server, last func() http.Header) {
	l = why.New(why.Options{})
	var got atomic.Pointer[http.Header]
	mux := http.NewServeMux()
	mux.Handle("/debug/informers/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Store(&r.Header)
		l.Handler().ServeHTTP(w, r)
	}))
	server = httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return l, server, func() http.Header { return *got.Load() }
}

func TestAttach_ServesThePageOfAnyProgramBehindTheToken(t *testing.T) {
	l, server, last := program(t)
	refuses := refusing(t, server)
	address, ask := opened(t, "--attach", server.URL+"/debug/informers/")
	bare, _, _ := strings.Cut(address, "?")
	stranger := ask("GET", bare, nil)
	require.Equal(t, http.StatusUnauthorized, stranger.StatusCode)
	require.NoError(t, stranger.Body.Close())

	page := ask("GET", address, nil)
	require.Contains(t, textOf(t, page), "The lens is off: nothing is recorded")
	policies := page.Header.Values("Content-Security-Policy")
	require.Len(t, policies, 1)
	require.Contains(t, policies[0], "style-src 'unsafe-inline'; form-action 'self'")

	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	form.Set("Sec-Fetch-Site", "cross-site")
	foreign := ask("POST", bare+"?on=true", form)
	require.Equal(t, http.StatusForbidden, foreign.StatusCode)
	require.NoError(t, foreign.Body.Close())
	require.False(t, l.IsOn())
	form.Set("Sec-Fetch-Site", "same-origin")
	form.Set("Origin", strings.TrimSuffix(bare, "/"))
	require.Contains(t, textOf(t, ask("POST", bare+"?on=true", form)), "The lens is on.")
	require.True(t, l.IsOn())
	require.Contains(t, textOf(t, ask("GET", bare+"?key=ns/p", nil)), "Nothing is known of ns/p")
	require.Empty(t, last().Values("Cookie"), "the token is for the page here")
	other := ask("GET", bare+"api/snapshot", nil)
	require.Equal(t, http.StatusNotFound, other.StatusCode)
	require.NoError(t, other.Body.Close())

	refuses.Store(true)
	server.CloseClientConnections()
	dead := ask("GET", bare, nil)
	require.Equal(t, http.StatusBadGateway, dead.StatusCode)
	require.Contains(t, textOf(t, dead), "the program that is looked at does not answer")
}

func TestAttach_SendsTheProgramsTokenAndNotItsOwn(t *testing.T) {
	_, server, last := program(t)
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("a-token-of-the-program"), 0o600))
	for _, c := range []struct {
		args []string
		want []string
	}{{[]string{"--attach-token-file", file}, []string{"Bearer a-token-of-the-program"}}, {nil, nil}} {
		address, ask := opened(t, append(c.args, "--attach", server.URL+"/debug/informers/")...)
		bare, token, _ := strings.Cut(address, "?token=")
		page := ask("GET", bare, http.Header{"Authorization": {"Bearer " + token}})
		require.Contains(t, textOf(t, page), "The lens is off")
		require.Equal(t, c.want, last().Values("Authorization"))
	}
}

func TestAttach_SaysWhatItWantedAndWhatCame(t *testing.T) {
	_, server, _ := program(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	go func() {
		for {
			c, err := silent.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(c)) // an answer that comes before the question is another error
			_, _ = c.Write([]byte("SSH-2.0-x\r\n"))
			c.Close()
		}
	}()
	for address, want := range map[string]string{
		server.URL + "/debug/informers":    `got 307 Temporary Redirect`,
		server.URL + "/":                   `want the page of a lens.Handler, or an ingress controller's --lens-addr; got 404 Not Found, "404 page not found\n"`,
		server.URL[len("http://"):]:        "got 404 Not Found",
		"http://" + silent.Addr().String(): "malformed HTTP",
	} {
		err := run(t.Context(), []string{"--attach", address}, io.Discard)
		assert.ErrorContains(t, err, want, address)
	}
}

func TestAttach_BeforeTheProgramIsStartedSaysSo(t *testing.T) {
	_, server, _ := program(t)
	refuses := refusing(t, server)
	refuses.Store(true)
	page, ask := opened(t, "--attach", server.URL+"/debug/informers/")
	dead := ask("GET", page, nil)
	require.Equal(t, http.StatusBadGateway, dead.StatusCode)
	require.Contains(t, textOf(t, dead), "does not answer")
	refuses.Store(false)
	require.Contains(t, textOf(t, ask("GET", page, nil)), "The lens is off")
}

// refusing returns a switch for new connections to the server: they are refused, as if it had ended. A port that were freed could be another
// program's at once.
func refusing(t *testing.T, server *httptest.Server) (refuses *atomic.Bool) {
	refuses = &atomic.Bool{}
	before := http.DefaultTransport
	changed := before.(*http.Transport).Clone()
	changed.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if refuses.Load() && address == server.Listener.Addr().String() {
			return nil, &net.OpError{Op: "dial", Net: network, Addr: server.Listener.Addr(), Err: syscall.ECONNREFUSED}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	http.DefaultTransport = changed
	t.Cleanup(func() {
		http.DefaultTransport = before
		changed.CloseIdleConnections()
	})
	return refuses
}

func TestParse_RefusesWhatOthersCouldReach(t *testing.T) {
	short := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(short, []byte("short\n"), 0o600))
	for _, c := range []struct{ args, want string }{
		{"--listen 0.0.0.0:0", "--token-file, --tls-cert and --tls-key are needed"},
		{"--listen :0", "are needed"},
		{"--listen 192.0.2.1:0 --token-file " + short, "are needed"},
		{"--listen here", "want host:port"},
		{"--tls-cert a", "want both or none"},
		{"--token-file " + short, "at least 16"},
		{"--token-file " + short + "x", "--token-file"},
		{"--session " + short, "--session"},
		{"--attach-token-file " + short, "no use without --attach"},
		{"--attach https://127.0.0.1:1/", "on loopback"},
		{"--attach http://10.0.0.5/debug/informers/", "on loopback"},
		{"--attach 10.0.0.5:8082 --attach-token-file x", "on loopback"},
		{"--attach 127.0.0.1:1 --attach-token-file " + short, "at least 16"},
		{"--write", "no use without --kubeconfig"},
		{"--kubeconfig " + short + " --session x", "want one of them"},
		{"--kubeconfig " + short + "x", "kubeconfig"},
		{"extra", "flags only"},
	} {
		var out bytes.Buffer
		err := run(context.Background(), strings.Fields(c.args), &out)
		assert.ErrorContains(t, err, c.want, c.args)
	}
}
