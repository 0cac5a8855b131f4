package controlplane_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/tests/check/controlplane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func clientset(t *testing.T, p *controlplane.Plane, id controlplane.Identity) *kubernetes.Clientset {
	t.Helper()
	cfg := p.Config(id)
	cfg.DisableCompression = true
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func configMap(name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}}
}

func TestPlane_IsARealClusterThatCollectsGarbage(t *testing.T) {
	p, ctx := controlplane.Start(t), t.Context()
	client := clientset(t, p, controlplane.Admin)
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.GitVersion != "v1.37.1" {
		t.Errorf("version: want v1.37.1, got %q", version.GitVersion)
	}

	t.Run("an owned object goes with its owner", func(t *testing.T) {
		maps := client.CoreV1().ConfigMaps("default")
		owner, err := maps.Create(ctx, configMap("owner"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ref := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}
		if _, err := maps.Create(ctx, configMap("owned", ref), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(ctx, owner.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		apiservertest.Eventually(t, "garbage collection", func() error { return gone(maps.Get(ctx, "owned", metav1.GetOptions{})) })
	})

	t.Run("a terminating namespace is emptied and goes", func(t *testing.T) {
		namespaces := client.CoreV1().Namespaces()
		if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.CoreV1().ConfigMaps("short").Create(ctx, configMap("inside"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := namespaces.Delete(ctx, "short", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		apiservertest.Eventually(t, "the namespace's end", func() error { return gone(namespaces.Get(ctx, "short", metav1.GetOptions{})) })
	})

	t.Run("RBAC keeps the others out", func(t *testing.T) {
		for _, id := range []controlplane.Identity{controlplane.Controller, controlplane.Stranger} {
			_, err := clientset(t, p, id).CoreV1().Services("").List(ctx, metav1.ListOptions{})
			if !apierrors.IsForbidden(err) {
				t.Errorf("%s: want Forbidden, got %v", id, err)
			}
		}
	})
}

func gone[T any](_ T, err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return errors.Join(errors.New("it is still there"), err)
}

func TestSplitPlane_ComesBackWithItsData(t *testing.T) {
	p := controlplane.StartSplit(t)
	client := clientset(t, p, controlplane.Admin)
	maps := client.CoreV1().ConfigMaps("default")
	before, err := maps.Create(t.Context(), configMap("kept"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	restarts := []struct {
		what  string
		url   string
		kill  func()
		start func() error
	}{
		{"the API server", p.Config(controlplane.Admin).Host, p.KillAPIServer, p.StartAPIServer},
		{"etcd", p.EtcdURL(), p.KillEtcd, p.StartEtcd},
	}
	for _, r := range restarts {
		r.kill()
		if l, err := net.Listen("tcp", r.url[strings.Index(r.url, "127.0.0.1:"):]); err == nil {
			t.Errorf("%s was killed, and somebody else may listen on its port", r.what)
			l.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := maps.Create(ctx, configMap("while-"+r.what), metav1.CreateOptions{})
		cancel()
		if err == nil {
			t.Errorf("%s was killed, and a write went through", r.what)
		}
		if err := r.start(); err != nil {
			t.Fatal(err)
		}
		apiservertest.Eventually(t, r.what, func() error {
			after, err := maps.Get(t.Context(), "kept", metav1.GetOptions{})
			if err == nil && after.UID != before.UID {
				t.Fatalf("another cluster: uid %s, want %s", after.UID, before.UID)
			}
			return err
		})
	}
}

func TestLaunch_WithoutTheBinarySaysHowToGetIt(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := controlplane.Launch(controlplane.Options{})
	if !errors.Is(err, controlplane.ErrMissing) {
		t.Fatalf("want ErrMissing, got %v", err)
	}
}

// launcher is set where the test's program is to run a control plane until it is killed.
const launcher = "GLASSWATCH_TEST_LAUNCHER"

func TestLauncher(t *testing.T) {
	if os.Getenv(launcher) == "" {
		t.Skip("a part of TestAKilledLauncher_LeavesNothing, which runs it in another process")
	}
	p := controlplane.StartSplit(t)
	fmt.Println(filepath.Dir(p.Kubeconfig(controlplane.Admin)))
	select {} // until it is killed
}

func TestAKilledLauncher_LeavesNothing(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestLauncher$")
	cmd.Env = append(os.Environ(), launcher+"=1")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	var dir string
	for dir == "" && lines.Scan() {
		if filepath.IsAbs(lines.Text()) {
			dir = lines.Text()
		}
	}
	if dir == "" {
		t.Fatal("it names no directory")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	apiservertest.Eventually(t, "the directory's end", func() error {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is still there: %w", dir, err)
		}
		return nil
	})
}

func TestStop_LeavesNothing(t *testing.T) {
	p, err := controlplane.Launch(controlplane.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(p.Kubeconfig(controlplane.Admin))
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}
