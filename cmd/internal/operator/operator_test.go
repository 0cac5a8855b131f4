package operator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// klog's flush daemon has no way to be stopped.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// program is the name of the program in these tests.
const program = "web-controller"

// parse wants a valid command line.
func parse(t *testing.T, args ...string) *Flags {
	t.Helper()
	f, fs := &Flags{}, pflag.NewFlagSet(program, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	f.AddTo(fs)
	require.NoError(t, fs.Parse(args))
	require.NoError(t, f.Validate(fs))
	return f
}

func TestHealth_ReadyOnlyWithoutAComplaint(t *testing.T) {
	var complaint, stuck error
	handler := healthHandler(func() error { return stuck }, func() error { return complaint })
	get := func(path string) (int, string) {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		return answer.Code, answer.Body.String()
	}
	code, _ := get("/readyz")
	require.Equal(t, http.StatusOK, code)
	complaint = errors.New("services: not synced yet")
	code, body := get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "services: not synced yet")
	code, _ = get("/healthz")
	require.Equal(t, http.StatusOK, code, "waiting for the API server is no reason to be restarted")
	stuck = errors.New("failed to renew")
	code, body = get("/healthz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, body, "failed to renew")
}

func TestServe_StopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stopped, err := serve(ctx, "metrics", "127.0.0.1:0", http.NewServeMux())
	require.NoError(t, err)
	cancel()
	<-stopped
	stopped, err = serve(ctx, "metrics", "", nil)
	require.NoError(t, err)
	<-stopped
	_, err = serve(ctx, "metrics", "nowhere:nothing", nil)
	require.ErrorContains(t, err, "metrics")
}
