package lens

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/lens"
	"glasswatch/internal/lens/look"
)

// serveHandler serves a page as cmd/lens does, and returns its address with the token.
func serveHandler(t *testing.T, handler http.Handler) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: &look.Guard{Token: token, Address: listener.Addr(), Next: handler}}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return fmt.Sprintf("http://%s/?token=%s", listener.Addr(), token)
}

// What has no world of its own is shown all the same: a cluster, and through --attach another program.
func TestPage_ShowsWhatRunsElsewhere(t *testing.T) {
	t.Parallel()
	chromium(t)
	c, err := lens.NewCluster(apiservertest.Start(t, apiserver.Options{}).Config, "services", "", true)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	other := httptest.NewServer(look.ForPrograms(token, c.Handler()))
	t.Cleanup(other.Close)
	target, err := url.Parse(other.URL)
	require.NoError(t, err)
	for name, handler := range map[string]http.Handler{"a cluster": c.Handler(), "attached": lens.Attach(target, token)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			work(t)
			b := visit(t, serveHandler(t, handler), "")
			b.until(`document.querySelector('[data-test=objects-services]')?.textContent === '1'`)
			b.until(`document.querySelector('[data-test=server-elsewhere]')`)
			b.until(`document.querySelector('[data-test=count-reconciled]').textContent !== '0'`)
			b.sees("look", " [data-test=cannot]")
			b.until(`!document.querySelector('[data-test=sessions]')`)
			if name == "attached" {
				b.expect("status of 502|ERR_")
				other.CloseClientConnections()
				other.Close()
				b.says("dead", "The program that you look at has ended")
			}
		})
	}
}
