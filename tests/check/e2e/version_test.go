//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/tests/check/controlplane"
)

// There is no kubelet. The test does its part: it starts the program in a file system like that of the image, which has
// nothing else, with the token, the authority and the environment that a Pod gets.
func TestVersion_APodPrintsTheServersVersion(t *testing.T) {
	c := onSharedPlane(t)
	namespace := "server-version"
	c.apply(t, manifestsOf(t, "version", namespace, nil))
	pod, err := c.client.CoreV1().Pods(namespace).Get(t.Context(), "server-version", metav1.GetOptions{})
	require.NoError(t, err, "the namespace has the restricted standard, and let it in")
	image := t.TempDir()
	_, err = buildImage(root, "server-version", version, image)
	require.NoError(t, err)
	mounted := filepath.Join(image, "var", "run", "secrets", "kubernetes.io", "serviceaccount")
	require.NoError(t, os.MkdirAll(mounted, 0o755))
	cfg := c.plane.Config(controlplane.Admin)
	authority := cfg.CAData
	if cfg.CAFile != "" {
		authority, err = os.ReadFile(cfg.CAFile)
		require.NoError(t, err)
	}
	put := func(name string, text []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(mounted, name), text, 0o644))
	}
	put("ca.crt", authority)
	put("namespace", []byte(namespace))

	_, stderr, err := runInPod(t, image, cfg.Host)
	require.Error(t, err)
	require.Contains(t, stderr, "serviceaccount/token: no such file", "without automountServiceAccountToken")

	token, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), pod.Spec.ServiceAccountName,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	put("token", []byte(token.Status.Token))
	want, err := c.client.Discovery().ServerVersionWithContext(t.Context())
	require.NoError(t, err)
	stdout, stderr, err := runInPod(t, image, cfg.Host)
	require.NoError(t, err, stderr)
	require.Equal(t, cfg.Host+" is Kubernetes "+want.GitVersion+" for "+want.Platform+"\n", stdout)
}

// runInPod runs the program with image as its root directory, which takes root or a user namespace.
func runInPod(t *testing.T, image, host string) (stdout, stderr string, err error) {
	t.Helper()
	server, err := url.Parse(host)
	require.NoError(t, err)
	var out, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/server-version")
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &out, &log
	cmd.Env = []string{"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: image}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	}
	err = cmd.Run()
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("this system lets the test have no root directory of its own: %v", err)
	}
	return out.String(), log.String(), err
}
