package apiserver_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a served Server with clients.
type cluster struct {
	*apiserver.Server
	t        testing.TB
	ctx      context.Context
	config   *rest.Config
	listener net.Listener
	stop     func()
}

// start serves a server on a pipe until the test ends.
func start(t testing.TB, options apiserver.Options) *cluster {
	ctx, cancel := context.WithCancel(context.Background())
	c := &cluster{Server: apiserver.New(options), t: t, ctx: ctx, listener: apiserver.NewPipeListener()}
	c.config = c.RESTConfigFor(c.listener)
	done := make(chan error, 1)
	go func() { done <- c.Serve(ctx, c.listener) }()
	stopped := false
	c.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			require.NoError(t, <-done)
		}
	}
	t.Cleanup(c.stop)
	return c
}

// clientset speaks the given content type: "" is JSON.
func (c *cluster) clientset(contentType string) kubernetes.Interface {
	config := rest.CopyConfig(c.config)
	config.ContentType = contentType
	if contentType == runtime.ContentTypeProtobuf {
		config.AcceptContentTypes = contentType
	}
	cs, err := kubernetes.NewForConfig(config)
	require.NoError(c.t, err)
	return cs
}

func (c *cluster) dynamic() dynamic.Interface {
	d, err := dynamic.NewForConfig(c.config)
	require.NoError(c.t, err)
	return d
}
