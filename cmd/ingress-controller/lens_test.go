package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/controller/ingress"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/lens/look"
)

// lookedAt runs an ingress controller at which one may look, until the test ends, and returns what is served.
func lookedAt(t *testing.T, step bool) (http.Handler, *rest.Config) {
	t.Helper()
	cfg := apiservertest.Start(t, apiserver.Options{}).Config
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("a-token-for-tests\n"), 0o600))
	f := lensFlags{addr: "127.0.0.1:0", tokenFile: token, step: step}
	require.NoError(t, f.validate())
	ctx, cancel := context.WithCancel(context.Background())
	observed := rest.CopyConfig(cfg)
	opts := ingress.Options{Config: ingress.Config{
		AnnotationPrefix: ingress.DefaultAnnotationPrefix, Class: ingress.DefaultClass, Host: ingress.DefaultHost,
	}}
	hub := f.observe(ctx, observed, &opts)
	c, err := ingress.New(observed, opts)
	require.NoError(t, err)
	handler, err := f.handler(hub, c)
	require.NoError(t, err)
	apiservertest.Go(t, c.Run)
	t.Cleanup(cancel) // before c is stopped, which may be held back
	return handler, cfg
}

func ask(t *testing.T, handler http.Handler, method, path, body string, into any) int {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer a-token-for-tests")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if into != nil {
		require.NoError(t, json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(into), "%s", w.Body)
	}
	return w.Code
}

// journey waits for an event of the key at a boundary, and returns all of the key.
func journey(t *testing.T, handler http.Handler, key string, at look.Boundary) []look.Event {
	t.Helper()
	var answer struct{ Events []look.Event }
	apiservertest.Eventually(t, string(at), func() error {
		require.Equal(t, 200, ask(t, handler, "GET", "/api/journey?key="+key, "", &answer))
		if !slices.ContainsFunc(answer.Events, func(e look.Event) bool { return e.At == at }) {
			return fmt.Errorf("only %+v", answer.Events)
		}
		return nil
	})
	return answer.Events
}

func createWeb(t *testing.T, cfg *rest.Config) {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	_, err = client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"ingress/http": "true"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func TestLens_SeesAnIngressFromItsServiceOnAndHoldsNothingBack(t *testing.T) {
	handler, cfg := lookedAt(t, false)
	createWeb(t, cfg)
	seen := map[look.Boundary]look.Event{} // the first at each: the Ingress leads to a second reconcile, with nothing to write
	for _, e := range journey(t, handler, "default/web", look.Forgotten) {
		if _, again := seen[e.At]; !again {
			seen[e.At] = e
		}
	}
	for _, at := range append(crossed, look.Written, look.Reconciled) {
		require.Contains(t, seen, at)
	}
	require.Equal(t, 201, seen[look.Written].Code)
	require.Equal(t, "created the Ingress", seen[look.Decided].Action)
	require.NotEmpty(t, seen[look.Queued].Because)
	require.Equal(t, 404, ask(t, handler, "POST", "/act/pause", `{}`, nil), "--lens-step is not given")
	var now look.Snapshot
	require.Equal(t, 200, ask(t, handler, "GET", "/api/snapshot", "", &now))
	require.NotNil(t, now.Can)
	require.Empty(t, now.Can)
	require.Len(t, now.State.Informers, 2)
	nobody := httptest.NewRecorder()
	handler.ServeHTTP(nobody, httptest.NewRequest("GET", "/api/snapshot", nil))
	require.Equal(t, http.StatusUnauthorized, nobody.Code)
}

func TestLens_StepsIfItMayAndLetsTheProgramEnd(t *testing.T) {
	handler, cfg := lookedAt(t, true)
	var now look.Snapshot
	require.Equal(t, 200, ask(t, handler, "POST", "/act/breakpoint", `{"at": "stored", "key": "default/web"}`, nil))
	createWeb(t, cfg)
	apiservertest.Eventually(t, "the breakpoint", func() error {
		require.Equal(t, 200, ask(t, handler, "GET", "/api/snapshot", "", &now))
		if now.Gate.Hit == nil {
			return errors.New("not hit")
		}
		return nil
	})
	require.Equal(t, "lease", now.Note, "somebody who steps is warned")
	// The test's end ends the controller, which is held back.
}

func TestLens_FlagsNameWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		flags lensFlags
		want  string
	}{
		{lensFlags{step: true}, "no use without --lens-addr"},
		{lensFlags{tokenFile: "x"}, "no use without --lens-addr"},
		{lensFlags{addr: "here"}, "want host:port"},
		{lensFlags{addr: ":80", tokenFile: "x"}, "want a loopback address"},
		{lensFlags{addr: "192.0.2.1:80", tokenFile: "x"}, "want a loopback address"},
		{lensFlags{addr: "127.0.0.1:80"}, "needs --lens-token-file"},
	} {
		require.ErrorContains(t, c.flags.validate(), c.want)
	}
}
