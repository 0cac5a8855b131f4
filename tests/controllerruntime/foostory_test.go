package controllerruntime

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"glasswatch/tests/controlplane"
	"glasswatch/tests/foostory"
)

// upstream's sample-controller, unchanged, on client-go.
func TestSampleController_PlaysTheStoryThatOursPlays(t *testing.T) {
	program := filepath.Join(t.TempDir(), "sample-controller")
	command(t, "build", "-o", program, "k8s.io/sample-controller")
	t.Run("in process", func(t *testing.T) {
		_, cfg := serve(t)
		kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
		require.NoError(t, clientcmd.WriteToFile(clientcmdapi.Config{
			Clusters: map[string]*clientcmdapi.Cluster{"": {Server: cfg.Host}},
			Contexts: map[string]*clientcmdapi.Context{"": {}},
		}, kubeconfig))
		require.Equal(t, foostory.Golden, foostory.Story(t, cfg, "foo-story", foostory.Process(program, "--kubeconfig="+kubeconfig)))
	})
	t.Run("on a real API server", func(t *testing.T) {
		plane := controlplane.Start(t)
		upstream := foostory.Process(program, "--kubeconfig="+plane.Kubeconfig(controlplane.Admin))
		require.Equal(t, foostory.Golden, foostory.Story(t, plane.Config(controlplane.Admin), "foo-story", upstream))
	})
	require.NoError(t, os.Remove(program))
}
