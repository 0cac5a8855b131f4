package operator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// idle is a controller that waits for its end.
type idle struct {
	ready   atomic.Bool
	running chan struct{} // closed by Run
}

func (c *idle) Run(ctx context.Context) error {
	close(c.running)
	<-ctx.Done()
	return nil
}

func (c *idle) Ready() error {
	if c.ready.Load() {
		return nil
	}
	return errors.New("foos: not synced yet")
}

// addresses returns a context whose log tells on which addresses Run serves what.
func addresses(ctx context.Context) (context.Context, func(what string) string) {
	said := make(chan string, 10)
	logger := funcr.New(func(_, args string) {
		if _, what, ok := strings.Cut(args, `"what"="`); ok {
			said <- what
		}
	}, funcr.Options{})
	return klog.NewContext(ctx, logger), func(want string) string {
		for line := range said {
			what, address, _ := strings.Cut(line, `" "address"="`)
			if what == want {
				return "http://" + strings.TrimSuffix(address, `"`)
			}
		}
		return ""
	}
}

func get(t *testing.T, url string) (code int, body string) {
	t.Helper()
	answer, err := http.Get(url)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

func TestRun_ServesMetricsAndHealthForAsLongAsTheControllerRuns(t *testing.T) {
	server := apiservertest.StartOnSocket(t, apiserver.Options{})
	defer http.DefaultClient.CloseIdleConnections()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ctx, address := addresses(ctx)
	c, parts := &idle{running: make(chan struct{})}, Parts{}
	ended := make(chan error, 1)
	f := parse(t, "--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0", "--namespace=shop", "--workers=3")
	go func() {
		ended <- Run(ctx, server.Config, f, Program{Name: program,
			New: func(cfg *rest.Config, p Parts) (Controller, error) {
				parts = p
				p.Registerer.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "of_the_controller"}))
				hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, "hello")
				})
				return c, p.Serve("more", "127.0.0.1:0", hello)
			}})
	}()
	more, metrics, health := address("more"), address("metrics"), address("health")
	<-c.running
	require.Equal(t, []any{"shop", 3, true}, []any{parts.Namespace, parts.Workers, parts.MayWrite == nil})
	_, body := get(t, more)
	require.Equal(t, "hello", body)
	_, body = get(t, metrics+"/metrics")
	require.Contains(t, body, "of_the_controller")
	require.Contains(t, body, "go_goroutines")
	code, _ := get(t, health+"/healthz")
	require.Equal(t, 200, code)
	code, body = get(t, health+"/readyz")
	require.Equal(t, 503, code)
	require.Contains(t, body, "foos: not synced yet")
	c.ready.Store(true)
	code, _ = get(t, health+"/readyz")
	require.Equal(t, 200, code)

	stop()
	require.NoError(t, <-ended)
	for _, url := range []string{more, metrics, health} {
		_, err := http.Get(url)
		require.Error(t, err, "nobody listens any more")
	}
}

func TestRun_AStandbyRunsAndAReplicaThatLosesItsLeaseEndsWithoutWaiting(t *testing.T) {
	inBooth(t, func(b *booth) {
		enter := func() (p Parts, ended chan error, stop func()) {
			ctx, stop := context.WithCancel(context.Background())
			b.stops = append(b.stops, stop)
			running, ended := make(chan Parts, 1), make(chan error, 1)
			f := parse(t, "--leader-elect", "--leader-elect-namespace=default", "--metrics-addr=", "--health-addr=")
			go func() {
				c := &idle{running: make(chan struct{})}
				c.ready.Store(true)
				begin := func(_ *rest.Config, p Parts) (Controller, error) {
					running <- p
					return c, nil
				}
				ended <- Run(ctx, b.cfg, f, Program{Name: program, New: begin})
			}()
			return <-running, ended, stop
		}
		leader, lost, _ := enter()
		<-leader.MayWrite
		standby, ended, stop := enter()
		<-time.After(61 * time.Second) // between two renewals
		select {
		case <-standby.MayWrite:
			require.Fail(t, "two leaders")
		default:
		}
		lease := b.lease()
		*lease.Spec.HolderIdentity = "another"
		b.write(lease)
		require.ErrorIs(t, <-lost, errLost)
		<-standby.MayWrite // when the lease has run out
		stop()
		require.NoError(t, <-ended)
	})
}

func TestRun_AProgramThatCannotBeginSaysWhy(t *testing.T) {
	cfg, ctx := apiservertest.StartOnSocket(t, apiserver.Options{}).Config, t.Context()
	none := func(*rest.Config, Parts) (Controller, error) { return &idle{}, nil }
	refuse := func(*rest.Config, Parts) (Controller, error) { return nil, errors.New("no such option") }
	f := parse(t, "--metrics-addr=127.0.0.1:0", "--health-addr=nowhere:nothing")
	require.ErrorContains(t, Run(ctx, cfg, f, Program{New: none}), "health: listen tcp")
	require.ErrorContains(t, Run(ctx, cfg, f, Program{New: refuse}), "no such option")
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	require.ErrorContains(t, Run(ctx, nil, f, Program{New: none}), "no cluster: give --kubeconfig")
}

func TestRun_OnAClusterItDecidesWhetherToTakePartInAnElection(t *testing.T) {
	server := apiservertest.StartOnSocket(t, apiserver.Options{})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(`
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "`+server.Config.Host+`"}}]
contexts: [{name: a, context: {cluster: a}}]
current-context: a
`), 0o600))
	var said strings.Builder
	ctx := klog.NewContext(t.Context(), funcr.New(func(_, line string) { said.WriteString(line) }, funcr.Options{}))
	f := parse(t, "--kubeconfig="+kubeconfig, "--namespace=shop")
	enough := func(*rest.Config, Parts) (Controller, error) { return nil, io.EOF }
	require.ErrorIs(t, Run(ctx, nil, f, Program{Name: program, New: enough}), io.EOF)
	_, noPod := os.Stat(podNamespaceFile)
	require.Equal(t, noPod != nil, strings.Contains(said.String(), "writes beside a controller"), said.String())
	require.Equal(t, noPod == nil, f.Election.Enabled)
}

func TestFlags_InProcessWantsNoClusterAndFreePorts(t *testing.T) {
	for args, want := range map[string]string{
		"--kubeconfig=x": "--kubeconfig: an in-process API server needs none", "--context=x": "--context: ",
		"--leader-elect": "--leader-elect: ", "--insecure-skip-tls-verify": "--insecure-skip-tls-verify: ",
		"--health-addr=:1": "",
	} {
		f, fs := &Flags{}, pflag.NewFlagSet(program, pflag.ContinueOnError)
		f.AddTo(fs)
		require.NoError(t, fs.Parse([]string{args}))
		err := f.InProcess(fs)
		if want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []string{"127.0.0.1:0", ":1"}, []string{f.MetricsAddr, f.HealthAddr})
	}
}
