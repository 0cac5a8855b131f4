package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/tests/check/controlplane"
	"glasswatch/tests/check/manifests"
)

const (
	plain = "{apiVersion: v1, kind: ConfigMap, metadata: {name: demo}, data: {v: \"1\"}}"
	held  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: demo, finalizers: [example.com/held]}}"

	deletedLine = "configmap \"demo\" deleted from NAMESPACE namespace\n"
)

var lite struct {
	build sync.Once
	path  string
	err   error
}

// kubectlLite runs cmd/kubectl-lite with a text as standard input, in a namespace.
func kubectlLite(t *testing.T, kubeconfig, namespace, stdin string, args ...string) (code int, said string) {
	t.Helper()
	lite.build.Do(func() {
		lite.path = filepath.Join(shared.dir, "kubectl-lite")
		build := exec.Command("go", "build", "-o", lite.path, "./cmd/kubectl-lite")
		build.Dir = root
		text, err := build.CombinedOutput()
		if err != nil {
			lite.err = fmt.Errorf("%w\n%s", err, text)
		}
	})
	require.NoError(t, lite.err)
	cmd := exec.CommandContext(t.Context(), lite.path, append(args, "-n", namespace, "-f", "-")...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), strings.ReplaceAll(out.String(), namespace, "NAMESPACE")
}

// user is the service account of deploy/kubectl-lite in a namespace of its own.
type user struct {
	*cluster
	t                     *testing.T
	namespace, kubeconfig string
}

// newUser has the admin apply deploy/kubectl-lite by kubectl-lite, without the verbs that are dropped.
func newUser(t *testing.T, dropped ...string) *user {
	t.Helper()
	c := onSharedPlane(t)
	u := &user{cluster: c, t: t, namespace: c.namespace(t, "lite")}
	u.grant(dropped...)
	cfg, err := clientcmd.LoadFromFile(c.plane.Kubeconfig(controlplane.Admin))
	require.NoError(t, err)
	for _, info := range cfg.AuthInfos {
		info.Impersonate, info.ImpersonateGroups = u.account()
	}
	u.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*cfg, u.kubeconfig))
	return u
}

const verbs = "get, patch, create, delete, list, watch"

// grant waits until the server has taken note of the role.
func (u *user) grant(dropped ...string) {
	u.t.Helper()
	role, err := os.ReadFile(deploy + "/kubectl-lite/role.yaml")
	require.NoError(u.t, err)
	require.Contains(u.t, string(role), "["+verbs+"]")
	var kept []string
	for verb := range strings.SplitSeq(verbs, ", ") {
		if !strings.Contains(strings.Join(dropped, " "), verb) {
			kept = append(kept, verb)
		}
	}
	text := strings.NewReplacer(verbs, strings.Join(kept, ", "), "namespace: "+manifests.Namespace, "namespace: "+u.namespace).Replace(string(role))
	code, said := kubectlLite(u.t, u.plane.Kubeconfig(controlplane.Admin), u.namespace, text, "apply")
	require.Zero(u.t, code, said)
	name, groups := u.account()
	for verb := range strings.SplitSeq(verbs, ", ") {
		asked := authorizationv1.ResourceAttributes{Verb: verb, Resource: "configmaps", Namespace: u.namespace}
		eventually(u.t, func() error {
			review, err := u.client.AuthorizationV1().SubjectAccessReviews().Create(u.t.Context(), &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: name, Groups: groups, ResourceAttributes: &asked}}, metav1.CreateOptions{})
			if want := strings.Contains(strings.Join(kept, " "), verb); err == nil && review.Status.Allowed != want {
				err = fmt.Errorf("may %s: %t, want %t", verb, review.Status.Allowed, want)
			}
			return err
		})
	}
}

func (u *user) account() (name string, groups []string) {
	return "system:serviceaccount:" + u.namespace + ":kubectl-lite",
		[]string{"system:serviceaccounts", "system:serviceaccounts:" + u.namespace, "system:authenticated"}
}

func (u *user) runs(stdin string, args ...string) (code int, said string) {
	u.t.Helper()
	return kubectlLite(u.t, u.kubeconfig, u.namespace, stdin, args...)
}

// put makes the ConfigMap as the admin.
func (u *user) put(finalizers ...string) {
	u.t.Helper()
	_, err := u.client.CoreV1().ConfigMaps(u.namespace).Create(u.t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "demo", Finalizers: finalizers}}, metav1.CreateOptions{})
	require.NoError(u.t, err)
}

func TestKubectlLite_AppliesAndDeletesUnderItsOwnRightsOnly(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for _, want := range []string{"configmap/demo created\n", "configmap/demo unchanged\n"} {
		code, said := u.runs(held, "apply")
		require.Zero(t, code, said)
		require.Equal(t, want, said)
	}
	released := make(chan error, 1)
	go func() {
		released <- apiservertest.Within(t.Context(), patience, func() error {
			maps := u.client.CoreV1().ConfigMaps(u.namespace)
			demo, err := maps.Get(t.Context(), "demo", metav1.GetOptions{})
			if err == nil && demo.DeletionTimestamp == nil {
				err = errors.New("it is not being deleted")
			}
			if err == nil {
				_, err = maps.Patch(t.Context(), "demo", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			}
			return err
		})
	}()
	code, said := u.runs(held, "delete")
	require.NoError(t, <-released)
	require.Zero(t, code, said)
	require.Equal(t, deletedLine, said)
	_, err := u.client.CoreV1().ConfigMaps(u.namespace).Get(t.Context(), "demo", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "it waited: %v", err)

	code, said = u.runs("{apiVersion: v1, kind: Secret, metadata: {name: demo}}", "apply")
	require.Equal(t, 1, code)
	require.Contains(t, said, `cannot patch resource "secrets" in API group "" in the namespace "NAMESPACE"`)
	code, said = kubectlLite(t, u.kubeconfig, "default", plain, "apply")
	require.Equal(t, 1, code)
	require.Contains(t, said, `cannot patch resource "configmaps"`)
}

func TestKubectlLite_EachRightIsNeeded(t *testing.T) {
	t.Parallel()
	const forbidden = `Error from server (Forbidden): `
	for _, test := range []struct {
		drop string
		file string
		args string
		code int
		said string // without the right
		then string // with it
	}{
		{"patch", plain, "apply", 1, `cannot patch resource "configmaps"`, "configmap/demo created"},
		{"create", plain, "apply", 1, `cannot create resource "configmaps"`, "configmap/demo created"},
		{"get", plain, "apply", 0, "configmap/demo serverside-applied", "configmap/demo unchanged"},
		{"delete", plain, "delete", 1, `cannot delete resource "configmaps"`, "configmap \"demo\" deleted"},
		// A server with streaming lists needs watch only. Where it may not look, it does not wait for the finalizer.
		{"list watch", held, "delete", 0, "configmap \"demo\" deleted", "timed out waiting for the condition on configmaps/demo"},
	} {
		t.Run(test.drop, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, strings.Fields(test.drop)...)
			if strings.HasPrefix(test.args, "delete") {
				u.put("example.com/held")
			}
			args := strings.Fields(test.args)
			if test.drop == "delete" {
				args = append(args, "--wait=false")
			}
			code, said := u.runs(test.file, args...)
			require.Equal(t, test.code, code, said)
			require.Contains(t, said, test.said)
			require.Equal(t, test.code == 1, strings.Contains(said, forbidden), said)
			u.grant()
			if test.file == held {
				args = append(args, "--timeout=1s") // it waits for that long
			}
			_, said = u.runs(test.file, args...)
			require.Contains(t, said, test.then)
		})
	}
}
