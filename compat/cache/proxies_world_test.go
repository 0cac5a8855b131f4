package cache

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
)

// proxy stands between a clientset and a server that has the ConfigMaps a and b at version 10. It spoils the first
// answers.
type proxy struct {
	c     *transcript
	quit  chan struct{} // ends the watches that the server holds open
	http2 bool          // is spoken on both sides, without TLS

	mu             sync.Mutex
	lists, watches []http.HandlerFunc
	last           time.Time
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.answer(r)(w, r)
}

// answer writes the request down, and takes what answers it.
func (p *proxy) answer(r *http.Request) (h http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := r.URL.Query()
	q.Del("timeout")
	q.Del("timeoutSeconds")
	// Waits after failures are random, those that a server or a proxy causes are whole seconds.
	when := "later"
	if took := time.Since(p.last); took%time.Second == 0 {
		when = "after " + took.String()
	}
	p.last = time.Now()
	p.c.write("%s: %s?%s", when, r.URL.Path, q.Encode())
	spoiled, h := &p.lists, serveList
	if q.Has("watch") {
		spoiled, h = &p.watches, p.serveWatch
	}
	if len(*spoiled) > 0 {
		h = (*spoiled)[0]
		*spoiled = (*spoiled)[1:]
	}
	return h
}

func encoded(obj any) []byte {
	data, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	return data
}

func encodedList() []byte {
	list := configMapList("10", configMap("a", "3"), configMap("b", "4"))
	list.Kind, list.APIVersion = "ConfigMapList", "v1"
	return encoded(list)
}

func serveList(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encodedList())
}

// frameOf is an event of a watch.
func frameOf(event string, obj *corev1.ConfigMap) string {
	obj = obj.DeepCopy()
	obj.Kind, obj.APIVersion = "ConfigMap", "v1"
	return string(encoded(map[string]any{"type": event, "object": obj})) + "\n"
}

// write sends text, and flushes.
func write(w http.ResponseWriter, text string) {
	_, _ = w.Write([]byte(text))
	w.(http.Flusher).Flush()
}

// serveWatch streams the list if it is asked to, and then holds the watch open.
func (p *proxy) serveWatch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	write(w, "")
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		end := configMap("", "10")
		end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		write(w, frameOf("ADDED", configMap("a", "3"))+frameOf("ADDED", configMap("b", "4"))+frameOf("BOOKMARK", end))
	}
	select {
	case <-r.Context().Done():
	case <-p.quit:
	}
}

// hangUp closes the connection.
func hangUp(w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = connection.Close()
	}
}

// behind runs an informer of a clientset behind a proxy for some minutes.
func (c *transcript) behind(t *testing.T, streams bool, spoil func(p *proxy)) {
	t.Helper()
	p := &proxy{c: c, quit: make(chan struct{}), last: time.Now()}
	spoil(p)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!p.http2)
	protocols.SetUnencryptedHTTP2(p.http2)
	listener, server := apiserver.NewPipeListener(), &http.Server{Handler: p, Protocols: protocols}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	transport := &http.Transport{DialContext: listener.DialContext, Protocols: protocols}
	clientset, err := kubernetes.NewForConfig(&rest.Config{Host: "http://server", Transport: transport, QPS: -1})
	require.NoError(t, err)
	client := clientset.CoreV1().ConfigMaps("")
	lw := &ListWatch{ListWithContextFunc: listOf(client.List), WatchFuncWithContext: client.Watch}
	informer := c.informer(t, &semanticListWatch{ListWatch: lw, unsupported: !streams})
	stop := running(informer.RunWithContext)
	pass(150 * time.Second)
	keys := sorted(informer.GetStore().ListKeys())
	c.write("synced %v, version %q, keys %v", informer.HasSynced(), informer.LastSyncResourceVersion(), keys)
	stop()
	close(p.quit)
	_ = server.Close()
	require.ErrorIs(t, <-served, http.ErrServerClosed)
	transport.CloseIdleConnections()
	synctest.Wait()
}
