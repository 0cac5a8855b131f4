package sharding

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/operator"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

func TestMain(m *testing.M) {
	// klog's flush daemon has no way to be stopped.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// program is the name of the program in these tests.
const program = "web-controller"

func flags() (*Flags, *operator.Flags, *pflag.FlagSet) {
	f, shared, fs := &Flags{}, &operator.Flags{}, pflag.NewFlagSet(program, pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	shared.AddTo(fs)
	f.AddTo(fs)
	return f, shared, fs
}

// parse wants a valid command line.
func parse(t *testing.T, args ...string) (*Flags, *operator.Flags) {
	t.Helper()
	f, shared, fs := flags()
	require.NoError(t, fs.Parse(args))
	require.NoError(t, f.Validate(fs, shared))
	return f, shared
}

// booth is an API server and the replicas, with shards or with a leader, in virtual time.
type booth struct {
	t      *testing.T
	server *apiserver.Server
	cfg    *rest.Config
	stops  []func() // of the replicas

	entered    int // replicas with shards
	mu         sync.Mutex
	modeWrites int           // by those, guarded by mu
	down       chan struct{} // guarded by mu: if not nil, no request of those is answered before it is closed
}

func inBooth(t *testing.T, play func(b *booth)) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
		b := &booth{t: t, server: s.Server, cfg: s.Config}
		defer func() { // also after a failure, for nothing may stay in the bubble
			for _, stop := range b.stops {
				stop()
			}
			<-time.After(time.Minute)
		}()
		play(b)
	})
}

// candidate is a replica that takes part in the election of a leader. It is its own controller.
type candidate struct {
	mayWrite <-chan struct{}
	working  atomic.Bool
	stop     func()
	ended    chan struct{} // closed when the program has ended
}

// Run works once it may write, and lets its work drain for a second.
func (c *candidate) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.mayWrite:
	}
	c.working.Store(true)
	<-ctx.Done()
	<-time.After(time.Second)
	return nil
}

// Ready is never asked.
func (c *candidate) Ready() error { return nil }

func (b *booth) enter() *candidate {
	b.t.Helper()
	_, shared := parse(b.t, "--leader-elect", "--leader-elect-namespace=default", "--metrics-addr=", "--health-addr=")
	ctx, stop := context.WithCancel(context.Background())
	b.stops = append(b.stops, stop)
	c := &candidate{stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		defer c.working.Store(false)
		_ = operator.Run(ctx, b.cfg, shared, operator.Program{Name: program,
			New: func(_ *rest.Config, p operator.Parts) (operator.Controller, error) {
				c.mayWrite = p.MayWrite
				return c, nil
			}})
		stop() // its work ends with the process
	}()
	synctest.Wait()
	return c
}

func (b *booth) lease() *coordinationv1.Lease {
	client, err := kubernetes.NewForConfig(b.cfg)
	require.NoError(b.t, err)
	lease, err := client.CoordinationV1().Leases("default").Get(context.Background(), program, metav1.GetOptions{})
	require.NoError(b.t, err)
	return lease
}

func (b *booth) write(lease *coordinationv1.Lease) {
	client, err := kubernetes.NewForConfig(b.cfg)
	require.NoError(b.t, err)
	_, err = client.CoordinationV1().Leases("default").Update(context.Background(), lease, metav1.UpdateOptions{})
	require.NoError(b.t, err)
}
