package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/client-go/tools/clientcmd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kubeconfig writes one with two contexts; the second turns verification off.
func kubeconfig(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(`apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: one, cluster: {server: "https://one.example.com"}}
- {name: two, cluster: {server: "https://two.example.com", insecure-skip-tls-verify: true}}
contexts:
- {name: one, context: {cluster: one, user: u}}
- {name: two, context: {cluster: two, user: u}}
users:
- {name: u, user: {token: secret}}
`), 0o600))
	return path
}

func TestCluster_FlagThenEnvironmentThenPodNeverTheHomeDirectory(t *testing.T) {
	path := kubeconfig(t)
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, ".kube"), 0o755))
	require.NoError(t, os.Rename(kubeconfig(t), filepath.Join(home, ".kube", "config")))
	t.Setenv("HOME", home)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")

	t.Setenv(clientcmd.RecommendedConfigPathEnvVar, "")
	_, _, err := Flags{}.Config()
	require.ErrorContains(t, err, "no cluster: give --kubeconfig")
	_, _, err = Flags{Context: "one"}.Config()
	require.ErrorContains(t, err, "--context one: there is no kubeconfig")

	cfg, source, err := Flags{Kubeconfig: path}.Config()
	require.NoError(t, err)
	require.Equal(t, "https://one.example.com", cfg.Host)
	require.Equal(t, "kubeconfig context one", source)

	t.Setenv(clientcmd.RecommendedConfigPathEnvVar, path)
	cfg, _, err = Flags{}.Config()
	require.NoError(t, err)
	require.Equal(t, "https://one.example.com", cfg.Host)

	_, _, err = Flags{Context: "three"}.Config()
	require.ErrorContains(t, err, `"three"`)
	_, _, err = Flags{Kubeconfig: filepath.Join(home, "missing")}.Config()
	require.ErrorContains(t, err, "missing")
	t.Setenv(clientcmd.RecommendedConfigPathEnvVar, filepath.Join(home, "absent"))
	_, _, err = Flags{}.Config()
	require.ErrorContains(t, err, "absent")
}

func TestCluster_VerificationIsOnUnlessTheFlagTurnsItOff(t *testing.T) {
	path := kubeconfig(t)
	cfg, _, err := Flags{Kubeconfig: path}.Config()
	require.NoError(t, err)
	require.False(t, cfg.Insecure)
	_, _, err = Flags{Kubeconfig: path, Context: "two"}.Config()
	require.ErrorContains(t, err, "--insecure-skip-tls-verify")
	cfg, _, err = Flags{Kubeconfig: path, Context: "two", Insecure: true}.Config()
	require.NoError(t, err)
	require.True(t, cfg.Insecure)
}
