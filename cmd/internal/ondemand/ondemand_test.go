package ondemand

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

func TestMain(m *testing.M) {
	// klog's flush daemon has no way to be stopped.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

var (
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	pods       = corev1.SchemeGroupVersion.WithResource("pods")
	everything = Selection{Selector: labels.Everything()}
)

// bench is an API server and informers on it, in a bubble of virtual time.
type bench struct {
	*apiservertest.Server
	sent atomic.Int64 // requests of the informers
	*Kinds
}

type counting struct {
	next http.RoundTripper
	sent *atomic.Int64
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.sent.Add(1)
	return c.next.RoundTrip(r)
}

func onBench(t *testing.T, o Options, story func(b *bench)) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) {
		b := &bench{Server: server}
		cfg := rest.CopyConfig(b.Config)
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, &b.sent} })
		var err error
		b.Kinds, err = New(cfg, o)
		require.NoError(b, err)
		b.Cleanup(b.Close)
		story(b)
	})
}

func (b *bench) put(name, app string) {
	b.Helper()
	maps := b.Client.CoreV1().ConfigMaps("default")
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}}}
	_, err := maps.Update(b.Context(), obj, metav1.UpdateOptions{})
	if err != nil {
		_, err = maps.Create(b.Context(), obj, metav1.CreateOptions{})
	}
	require.NoError(b, err)
}

func (b *bench) remove(name string) {
	b.Helper()
	require.NoError(b, b.Client.CoreV1().ConfigMaps("default").Delete(b.Context(), name, metav1.DeleteOptions{}))
}

// read enters, waits until the informer is ready, and leaves.
func (b *bench) read(gvr schema.GroupVersionResource) (*Kind, error) {
	k, err := b.Enter(b.Context(), gvr)
	if err == nil {
		defer b.Leave(k)
		err = k.Ready(b.Context())
	}
	return k, err
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestKinds_OneInformerForAllReadersUntilNobodyReads(t *testing.T) {
	onBench(t, Options{Max: 1, Idle: time.Minute}, func(b *bench) {
		var readers sync.WaitGroup
		for range 20 {
			readers.Go(func() {
				_, err := b.read(configMaps)
				require.NoError(b, err)
			})
		}
		readers.Wait()
		require.Equal(b, 1, b.Server.Faults().Watches())
		before := b.sent.Load()
		for range 5 { // each begins the time anew
			pass(50 * time.Second)
			_, err := b.read(configMaps)
			require.NoError(b, err)
		}
		require.Equal(b, before, b.sent.Load())
		pass(time.Minute)
		require.Zero(b, b.Server.Faults().Watches())
		k, err := b.Enter(b.Context(), pods)
		require.NoError(b, err)
		pass(4 * time.Minute)
		require.Equal(b, 1, b.Server.Faults().Watches(), "it has a reader")
		b.Leave(k)
	})
}

func TestKinds_AtTheLimitTheLongestIdleOneGivesWay(t *testing.T) {
	onBench(t, Options{Max: 2, Idle: time.Hour}, func(b *bench) {
		secrets, nodes := corev1.SchemeGroupVersion.WithResource("secrets"), corev1.SchemeGroupVersion.WithResource("nodes")
		for _, gvr := range []schema.GroupVersionResource{configMaps, secrets, configMaps, pods} {
			pass(time.Second)
			_, err := b.read(gvr)
			require.NoError(b, err)
		}
		k, err := b.Enter(b.Context(), configMaps)
		require.NoError(b, err)
		defer b.Leave(k)
		require.NoError(b, k.Ready(b.Context()))
		require.Contains(b, b.running, pods, "and not secrets, which nobody has read for longer")
		other, err := b.Enter(b.Context(), pods)
		require.NoError(b, err)
		defer b.Leave(other)
		_, err = b.read(nodes)
		require.True(b, apierrors.IsServiceUnavailable(err), "both have readers: %v", err)
	})
}

func TestKinds_OneThatMayNotBeReadTakesNoPlace(t *testing.T) {
	onBench(t, Options{Max: 1, Idle: time.Hour}, func(b *bench) {
		for _, verb := range []string{"list", "watch"} {
			b.Server.Faults().FailNext(-1, apiserver.Failure{Verb: verb, Resource: "configmaps", Code: 403})
		}
		_, err := b.read(configMaps)
		require.True(b, apierrors.IsForbidden(err), "%v", err)
		require.Empty(b, b.running)
		sent := b.sent.Load()
		_, err = b.read(configMaps)
		require.True(b, apierrors.IsForbidden(err), "%v", err)
		require.Equal(b, sent, b.sent.Load(), "the answer is remembered")
		b.Server.Faults().Reset()
		pass(missLifetime + time.Second)
		_, err = b.read(configMaps)
		require.NoError(b, err)
	})
}

func TestKinds_NothingStartsAfterClose(t *testing.T) {
	onBench(t, Options{Max: 2, Idle: time.Hour}, func(b *bench) {
		_, err := b.read(configMaps)
		require.NoError(b, err)
		b.Close()
		for _, gvr := range []schema.GroupVersionResource{configMaps, pods} {
			_, err = b.Enter(b.Context(), gvr)
			require.True(b, apierrors.IsServiceUnavailable(err), "%s: %v", gvr.Resource, err)
		}
	})
}

func TestKinds_AskSeldomForWhatIsNotThere(t *testing.T) {
	onBench(t, Options{Max: 1, Idle: time.Minute}, func(b *bench) {
		for range 100 {
			_, err := b.read(corev1.SchemeGroupVersion.WithResource("gardens"))
			require.True(b, apierrors.IsNotFound(err))
		}
		require.EqualValues(b, 1, b.sent.Load())
		_, err := b.read(corev1.SchemeGroupVersion.WithResource("bindings"))
		require.True(b, apierrors.IsNotFound(err), "it can neither be listed nor watched")
	})
}

func TestObject_IsTheServersOwnWordsAndSaysItsKind(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"A", "apiVersion":"b/v1", "metadata":{"name":"c"}, "unknown": [1.50]}`://
		`{"kind":"A","apiVersion":"b/v1","metadata":{"name":"c"},"unknown":[1.50]}`,
		`{"metadata":{"name":"c","uid":"d","labels":{"e":"f"}}}`://
		`{"apiVersion":"b/v1","kind":"A","metadata":{"name":"c","uid":"d","labels":{"e":"f"}}}`,
	} {
		var obj Object
		require.NoError(t, json.Unmarshal([]byte(text), &obj))
		gvk := schema.GroupVersionKind{Group: "b", Version: "v1", Kind: "A"}
		require.Equal(t, want, string(obj.sayKind(gvk).sayKind(gvk).JSON()))
		require.Equal(t, "c", obj.GetName())
		require.Equal(t, obj.Labels, obj.DeepCopyObject().(*Object).Labels)
	}
}

func TestObject_TakesItsNamesFromFieldsOfThatCaseOnly(t *testing.T) {
	var obj Object
	require.NoError(t, json.Unmarshal([]byte(`{"metadata":{"name":"a","labels":{"b":"c"},"Labels":{"b":"x"}},
		"Metadata":{"name":"y","labels":{"b":"z"}},"Kind":"Other"}`), &obj))
	require.Equal(t, "a", obj.GetName())
	require.Equal(t, map[string]string{"b": "c"}, obj.Labels)
	require.Empty(t, obj.Kind)
}

func TestPages_ShowOneMoment(t *testing.T) {
	onBench(t, Options{Max: 2, Idle: time.Hour}, func(b *bench) {
		for i := range 5 {
			b.put(fmt.Sprintf("m%d", i), "web")
		}
		k, err := b.read(configMaps)
		require.NoError(b, err)
		pages := NewPages()
		list := func(s Selection) (names, next string) {
			_, text, err := pages.List(k, s)
			require.NoError(b, err)
			var page struct {
				Metadata metav1.ListMeta
				Items    []struct{ Metadata metav1.ObjectMeta }
			}
			require.NoError(b, json.Unmarshal(text(), &page))
			for _, item := range page.Items {
				names += item.Metadata.Name + " "
			}
			return names, page.Metadata.Continue
		}
		s := Selection{Selector: labels.Everything(), Limit: 2}
		names, first := list(s)
		require.Equal(b, "m0 m1 ", names)
		b.remove("m3")
		b.put("m9", "web")
		pass(time.Second)
		s.Continue = first
		names, s.Continue = list(s)
		require.Equal(b, "m2 m3 ", names)
		names, last := list(s)
		require.Equal(b, "m4 ", names)
		require.Empty(b, last)
		web, err := labels.Parse("app=web")
		require.NoError(b, err)
		for _, other := range []Selection{{Namespace: "default", Selector: s.Selector}, {Selector: web}} {
			other.Continue = s.Continue
			_, _, err = pages.List(k, other)
			require.True(b, apierrors.IsBadRequest(err), "another list")
		}
		pass(pageLifetime + time.Second)
		_, _, err = pages.List(k, s)
		require.True(b, apierrors.IsResourceExpired(err), "%v", err)
	})
}

// listen serves a watch of ConfigMaps, and returns how to connect to it.
func (b *bench) listen(s Selection, check func(ctx context.Context) error) *apiserver.PipeListener {
	front := apiserver.NewPipeListener()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k, err := b.Enter(r.Context(), configMaps)
		require.NoError(b, err)
		defer b.Leave(k)
		require.NoError(b, k.Ready(r.Context()))
		k.Watch(r.Context(), w, s, check, func(err error) []byte { return fmt.Appendf(nil, "%q", err.Error()) })
	})}
	done := make(chan error, 1)
	go func() { done <- server.Serve(front) }()
	b.Cleanup(func() { server.Close(); <-done })
	return front
}

func fine(context.Context) error { return nil }

// watch returns the next event of a stream: its type and the name of its object, or its message.
func (b *bench) watch(front *apiserver.PipeListener) (next func() string) {
	client := &http.Client{Transport: &http.Transport{DialContext: front.DialContext}}
	answer, err := client.Get("http://front/")
	require.NoError(b, err)
	b.Cleanup(func() { answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	return func() string {
		kind := ""
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			var obj Object
			switch {
			case field == "event":
				kind = value
			case field == "data" && kind == "ERROR":
				return kind + " " + value
			case field == "data":
				require.NoError(b, json.Unmarshal([]byte(value), &obj))
				return strings.TrimSpace(kind + " " + obj.Name)
			}
		}
		return ""
	}
}

func TestWatch_ASnapshotThenEachChangeOnce(t *testing.T) {
	onBench(t, Options{Max: 1, Idle: time.Hour}, func(b *bench) {
		b.put("m0", "web")
		b.put("m1", "db")
		web, err := labels.Parse("app=web")
		require.NoError(b, err)
		next := b.watch(b.listen(Selection{Selector: web}, fine))
		require.Equal(b, "ADDED m0", next())
		require.Equal(b, "SYNCED", next())
		b.put("m1", "web")
		b.put("m2", "db")
		b.put("m0", "db")
		b.put("m1", "web") // no change: no event
		b.remove("m1")
		require.Equal(b, []string{"ADDED m1", "DELETED m0", "DELETED m1"}, []string{next(), next(), next()})

		next = b.watch(b.listen(everything, fine)) // writes go on while it starts
		for i := range 50 {
			b.put("m2", fmt.Sprint(i))
		}
		b.remove("m2")
		seen := map[string]int{}
		for event := ""; event != "DELETED m2"; seen[event]++ {
			event = next()
		}
		require.Equal(b, 1, seen["ADDED m2"])
		require.Equal(b, 1, seen["SYNCED"])
	})
}

func TestWatch_ChangesComeAfterSynced(t *testing.T) {
	written := httptest.NewRecorder()
	out := &stream{w: written, conn: http.NewResponseController(written), turn: make(chan struct{}, 1), cancel: func() {}}
	obj := &Object{text: []byte("{}")}
	out.OnAdd(obj, true)
	out.OnAdd(obj, false) // before the request's goroutine has noticed
	out.sync()
	var kinds []string
	for line := range strings.Lines(written.Body.String()) {
		if kind, ok := strings.CutPrefix(line, "event: "); ok {
			kinds = append(kinds, strings.TrimSpace(kind))
		}
	}
	require.Equal(t, []string{"ADDED", "SYNCED", "ADDED"}, kinds)
}

func TestWatch_EndsWithTheRightToIt(t *testing.T) {
	onBench(t, Options{Max: 1, Idle: time.Hour}, func(b *bench) {
		right := atomic.Bool{}
		right.Store(true)
		next := b.watch(b.listen(everything, func(context.Context) error {
			if right.Load() {
				return nil
			}
			return errors.New("no more")
		}))
		require.Equal(b, "SYNCED", next())
		right.Store(false)
		require.Equal(b, `ERROR "no more"`, next())
		require.Empty(b, next())
	})
}

// slow opens a watch and does not read.
func (b *bench) slow(front *apiserver.PipeListener) net.Conn {
	conn, err := front.DialContext(b.Context(), "", "")
	require.NoError(b, err)
	b.Cleanup(func() { conn.Close() })
	_, err = conn.Write([]byte("GET / HTTP/1.1\r\nHost: front\r\n\r\n"))
	require.NoError(b, err)
	return conn
}

func TestWatch_CutsOffAClientThatDoesNotRead(t *testing.T) {
	onBench(t, Options{Max: 1, Idle: time.Hour}, func(b *bench) {
		_, err := b.read(configMaps)
		require.NoError(b, err)
		conn := b.slow(b.listen(everything, fine))
		for i := range 10 {
			b.put("m0", fmt.Sprint("x", i))
		}
		pass(writeTimeout + time.Second)
		_, err = conn.Write([]byte("x"))
		require.Error(b, err, "the server has closed it")
		k, err := b.read(configMaps)
		require.NoError(b, err)
		require.Empty(b, k.Stats().Handlers)
	})
}
