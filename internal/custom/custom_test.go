package custom

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
	"glasswatch/internal/apiserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDefine_ThenObjectsAreServed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- apiserver.New(apiserver.Options{}).Serve(ctx, listener) }()
	cfg := apiserver.RESTConfigFor(listener)
	for range 2 { // the second time nothing changes
		require.NoError(t, Define(ctx, cfg, v1.Definition))
	}
	require.Error(t, Define(ctx, cfg, []byte("spec: {groop: a}")))
	clients, err := NewClient[v1.CloudManager, v1.CloudManagerList](cfg, v1.Scheme, v1.Resource)
	require.NoError(t, err)
	_, err = clients("default").Create(ctx, desired.Example("cloud"), metav1.CreateOptions{})
	require.NoError(t, err)
	list, err := clients("").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Equal(t, "ake-front", list.Items[0].Spec.Front.Deployment.Name)
	require.NoError(t, clients("default").Delete(ctx, "cloud", metav1.DeleteOptions{}))
	cancel()
	require.NoError(t, <-served)
}
