package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// world is an API server, an informer-api and its caller in a bubble of virtual time.
type world struct {
	*apiservertest.Server
	sent   atomic.Int64 // requests of informer-api to the API server
	front  *apiserver.PipeListener
	server *server
	http   *http.Client
}

const testToken = "0123456789abcdef"

func inWorld(t *testing.T, args string, story func(w *world)) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, api *apiservertest.Server) {
		w := &world{Server: api, front: apiserver.NewPipeListener()}
		o, err := parse(strings.Fields(args), t.Output())
		require.NoError(w, err)
		o.token = testToken
		w.server, err = newServer(counted(w.Config, &w.sent), o)
		require.NoError(w, err)
		apiservertest.Go(w, func(ctx context.Context) error { return w.server.serve(ctx, w.front) })
		w.http = &http.Client{Transport: &http.Transport{DialContext: w.front.DialContext}}
		w.Cleanup(w.http.CloseIdleConnections)
		story(w)
	})
}

// put creates or replaces a ConfigMap with a label.
func (w *world) put(name, app string) *corev1.ConfigMap {
	w.Helper()
	return w.PutObject(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": app}},
	})
}

func (w *world) send(path string, header ...string) *http.Response {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), "GET", "http://informer-api"+path, nil)
	require.NoError(w, err)
	r.Header.Set("Authorization", "Bearer "+testToken)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := w.http.Do(r)
	require.NoError(w, err)
	w.Cleanup(func() { answer.Body.Close() })
	return answer
}

// body is an answer of informer-api's own, of a list or of one object.
type body struct {
	Code    int
	Message string
	Data    struct {
		Kind, APIVersion string
		Metadata         struct {
			Name, ResourceVersion, Continue string
			RemainingItemCount              int
		}
		Items []struct{ Metadata struct{ Name string } }
	}
}

func (b body) names() string {
	var names []string
	for _, item := range b.Data.Items {
		names = append(names, item.Metadata.Name)
	}
	return strings.Join(names, " ")
}

// get wants a status.
func (w *world) get(status int, path string) body {
	w.Helper()
	answer := w.send(path)
	var b body
	require.NoError(w, json.NewDecoder(answer.Body).Decode(&b))
	require.Equal(w, status, answer.StatusCode, "%s: %s", path, b.Message)
	require.Equal(w, map[bool]int{true: success, false: failure}[status == 200], b.Code)
	require.Equal(w, status == 429 || status >= 503, answer.Header.Get("Retry-After") == "1")
	return b
}

// watch reads server-sent events. next returns the type of the next one, and its message; "" at the end.
func (w *world) watch(path string) (next func() string) {
	lines, kind := bufio.NewScanner(w.send(path).Body), ""
	return func() string {
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			if field == "event" {
				kind = value
			}
			if field == "data" {
				return kind + " " + value
			}
		}
		return ""
	}
}

// pass lets virtual time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
