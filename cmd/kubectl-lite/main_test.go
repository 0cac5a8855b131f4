package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"glasswatch/cmd/internal/demo/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestDemo(t *testing.T) { demotest.CheckOutput(t, story) }

// kubectl runs the program as its main does.
func kubectl(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

func TestRun_TellsWhatItIs(t *testing.T) {
	code, stdout, _ := kubectl(t)
	require.Zero(t, code)
	require.True(t, strings.HasPrefix(stdout, "kubectl controls the Kubernetes cluster manager.\n"), stdout)
}

func TestKubeconfig_IsNeverThatOfTheHomeDirectory(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	path := filepath.Join(home, ".kube", "config")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(`{apiVersion: v1, kind: Config, current-context: one,
		clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}],
		contexts: [{name: one, context: {cluster: c}}, {name: two, context: {cluster: c, namespace: second}}]}`), 0o600))
	_, _, stderr := kubectl(t, "delete", "-f", "main.go")
	require.Contains(t, stderr, "error: no cluster: give --kubeconfig, set KUBECONFIG")

	_, namespace, enforced, err := (&global{kubeconfig: path}).fromKubeconfig()
	require.NoError(t, err)
	require.Equal(t, "default", namespace)
	require.False(t, enforced)
	cfg, namespace, enforced, err := (&global{kubeconfig: path, context: "two", namespace: "third"}).fromKubeconfig()
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:1", cfg.Host)
	require.Equal(t, "third", namespace)
	require.True(t, enforced)
	t.Setenv("KUBECONFIG", path)
	_, namespace, _, err = (&global{context: "two"}).fromKubeconfig()
	require.NoError(t, err)
	require.Equal(t, "second", namespace)
	_, _, _, err = (&global{context: "three"}).fromKubeconfig()
	require.EqualError(t, err, `context "three" does not exist`)
}

// The words of most errors are compared with kubectl's in tests/check/kubectllite. Here are those that are hard to provoke.
func TestWords_OfRareErrors(t *testing.T) {
	refusal := func(reason metav1.StatusReason, details *metav1.StatusDetails) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Reason: reason, Message: "no", Details: details}}
	}
	cause := metav1.StatusCause{Field: "spec.a", Message: "bad"}
	demo := func(causes ...metav1.StatusCause) *metav1.StatusDetails {
		return &metav1.StatusDetails{Kind: "Service", Name: "demo", Causes: causes}
	}
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, "demo")
	for _, test := range []struct {
		err  error
		want string
	}{
		{errors.New("error: no luck"), "error: no luck\n"},
		{refusal(metav1.StatusReasonUnauthorized, nil), "error: You must be logged in to the server (no)\n"},
		{refusal("", nil), "Error from server: no\n"},
		{refusal(metav1.StatusReasonInvalid, nil), "The request is invalid: no\n"},
		{refusal(metav1.StatusReasonInvalid, &metav1.StatusDetails{}), "The request is invalid: no\n"},
		{refusal(metav1.StatusReasonInvalid, &metav1.StatusDetails{Causes: []metav1.StatusCause{cause}}), "The request is invalid: spec.a: bad\n"},
		{refusal(metav1.StatusReasonInvalid, demo()), "The Service \"demo\" is invalid\n"},
		{refusal(metav1.StatusReasonInvalid, demo(cause, cause)), "The Service \"demo\" is invalid: spec.a: bad\n"},
		{utilerrors.NewAggregate([]error{notFound}), "Error from server (NotFound): services \"demo\" not found\n"},
		{sourced("deleting", "a.yaml", errors.New("no luck")), "error: error when deleting \"a.yaml\": no luck\n"},
	} {
		require.Equal(t, test.want, wordsFor(test.err))
	}
}
