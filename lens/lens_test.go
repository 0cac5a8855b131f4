package lens

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"glasswatch/internal/apiserver/apiservertest"
)

func TestOptions_BoundWhatIsRemembered(t *testing.T) {
	l := New(Options{On: true, Keys: 3, PerKey: 9})
	for i := range 5 {
		key := fmt.Sprint("k", i)
		for range 11 {
			for range 10 {
				l.enqueued("c", key, "the program", 0)
			}
			l.taken("c", key)
			by, _ := l.beginWrite("ns/o")
			l.endWrite(by, "ns/o", Write{Verb: "PUT", Code: 200, Object: "ns/o", ResourceVersion: fmt.Sprint(i)})
			l.done("c", key)
		}
	}
	keys := l.Keys()
	require.Len(t, keys, 3)
	require.Equal(t, "k4", keys[0].Key, "the most recent one is first")
	require.Equal(t, 11, keys[0].Total)
	require.Len(t, keys[0].Reconciles, 9)
	require.Len(t, keys[0].Reconciles[0].Causes, 9)
	require.LessOrEqual(t, len(l.writes), 3)
	require.Len(t, l.versions, len(l.writes))
	require.Empty(t, l.doing)
	require.Empty(t, l.writing)
}

func TestEnqueued_ByTheReconcileOfAnotherKey(t *testing.T) {
	l := New(Options{On: true})
	l.taken("c", "a")
	l.enqueued("c", "b", "the program", time.Second)
	l.done("c", "a")
	l.enqueued("c", "a", "the program", 0)
	keys := l.Keys()
	require.Equal(t, "the program", keys[0].Pending[0].Action)
	require.Equal(t, "the reconcile of a", keys[1].Pending[0].Action)
	require.Equal(t, time.Second, keys[1].Pending[0].Delay)
	require.Equal(t, "b: c reconciled it 0 times; it waits because of the reconcile of a, after 1s", l.Why("b"))
}

// The watch may be faster than the answer to the write.
func TestCalled_BeforeTheWriteHasItsAnswer(t *testing.T) {
	l := New(Options{On: true})
	for _, target := range []string{"ns/o", "ns/"} {
		l.taken("c", "k")
		by, found := l.beginWrite(target)
		require.True(t, found)
		event := make(chan struct{})
		go func() { // a handler's goroutine
			defer close(event)
			version := "7" + target
			l.called(Cause{Informer: "i", Action: "update", Object: "ns/o", ResourceVersion: version}, func(c *Cause) { c.Fields = []string{".f"} })
			l.enqueued("c", "k", "the program", 0)
			l.returned(goroutine(), "i", "h")
		}()
		<-event
		l.endWrite(by, target, Write{Verb: "PUT", Code: 200, Object: "ns/o", ResourceVersion: "7" + target})
		l.done("c", "k")
		require.Equal(t, "k", l.Keys()[0].Pending[0].OwnWriteOf, target)
	}
	require.Empty(t, l.writing)
}

func TestChangedFields_AreNamesWithoutValues(t *testing.T) {
	before := apiservertest.ConfigMap("web", "secret-before")
	after := before.DeepCopy()
	after.ResourceVersion = "2"
	after.Data["value"] = "secret-after"
	after.Data["more"] = "x"
	after.Labels = map[string]string{"a": "b"}
	after.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	require.Equal(t, []string{".data.more", ".data.value", ".metadata.labels"}, changedFields(before, after))
	require.Empty(t, changedFields(before, before.DeepCopy()))
	require.Empty(t, changedFields(nil, after))
	for i := range 20 {
		after.Data[fmt.Sprint(i)] = "y"
	}
	require.Len(t, changedFields(before, after), maxFields)
}

// answering is a server that gives one answer.
type answering func(*http.Request) (*http.Response, error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

func TestTransport_LeavesTheAnswerAsItWas(t *testing.T) {
	large := `{"metadata":{"name":"x","resourceVersion":"5"},"data":"` + strings.Repeat("a", maxAnswer) + `"}`
	for name, body := range map[string]string{"small": `{"metadata":{"name":"web","namespace":"ns","resourceVersion":"5"}}`, "large": large, "none": "", "garbage": "{"} {
		t.Run(name, func(t *testing.T) {
			l := New(Options{On: true})
			closed := false
			next := l.Transport(answering(func(*http.Request) (*http.Response, error) {
				rest := struct {
					io.Reader
					io.Closer
				}{strings.NewReader(body), closer(func() { closed = true })}
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: rest}, nil
			}))
			l.taken("c", "k")
			answer, err := next.RoundTrip(httptest.NewRequest("PUT", "http://server/api/v1/namespaces/ns/configmaps/web", nil))
			require.NoError(t, err)
			got, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.True(t, body == string(got), "the body is another one")
			require.NoError(t, answer.Body.Close())
			require.True(t, closed)
			l.done("c", "k")
			w := l.Keys()[0].Reconciles[0].Writes[0]
			require.Equal(t, "ns/web", w.Object)
			require.Equal(t, map[string]string{"small": "5"}[name], w.ResourceVersion)
		})
	}
}

type closer func()

func (c closer) Close() error { c(); return nil }

func TestTransport_TellsOfWritesOfReconcilesOnly(t *testing.T) {
	l := New(Options{On: true})
	broken := errors.New("broken")
	next := l.Transport(answering(func(*http.Request) (*http.Response, error) { return nil, broken }))
	do := func(method string) {
		_, err := next.RoundTrip(httptest.NewRequest(method, "http://server/api/v1/nodes/n", nil))
		require.ErrorIs(t, err, broken)
	}
	do("PUT") // by nobody
	l.taken("c", "k")
	do("GET")
	do("PATCH")
	l.done("c", "k")
	require.Equal(t, []Write{{Verb: "PATCH", Path: "/api/v1/nodes/n", Object: "n"}}, l.Keys()[0].Reconciles[0].Writes)
}

func TestTargetOf_IsTheObjectOrItsNamespace(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/ns/pods/p":                "ns/p",
		"/api/v1/namespaces/ns/pods/p/status":         "ns/p",
		"/api/v1/namespaces/ns/pods":                  "ns/",
		"/apis/apps/v1/namespaces/ns/deployments/web": "ns/web",
		"/apis/apps/v1/namespaces/ns/deployments":     "ns/",
		"/api/v1/nodes/n":                             "n",
		"/api/v1/nodes":                               "/",
		"/api/v1/namespaces/ns":                       "ns",
		"/api/v1/namespaces":                          "/",
		"/proxy/c-1/api/v1/namespaces/ns/pods/p":      "ns/p",
		"/":                                           "/",
	} {
		assert.Equal(t, want, targetOf(httptest.NewRequest("PUT", "http://server"+path, nil)), path)
	}
}

func TestHandler_ShowsKeysAndSwitches(t *testing.T) {
	l := New(Options{})
	ask := func(method, query, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://program/debug/informers/"+query, nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		l.Handler().ServeHTTP(w, r)
		return w
	}
	require.Contains(t, ask("GET", "", "text/html").Body.String(), "The lens is off: nothing is recorded")
	require.Equal(t, http.StatusSeeOther, ask("POST", "?on=true", "").Code)
	require.True(t, l.IsOn())
	require.Equal(t, http.StatusBadRequest, ask("POST", "?on=perhaps", "").Code)
	require.Equal(t, http.StatusMethodNotAllowed, ask("PUT", "", "").Code)

	l.AddInformer("pods", notSynced{})
	for _, key := range []string{"ns/rare", "ns/often", "ns/often", "ns/<b>"} {
		l.enqueued("c", key, "the program", 0)
		l.taken("c", key)
		l.done("c", key)
	}
	for range inARow {
		l.taken("c", "ns/stuck")
		l.ended("c", "ns/stuck", failed+": no")
		l.done("c", "ns/stuck")
	}
	var report Report
	require.NoError(t, json.Unmarshal(ask("GET", "", "application/json").Body.Bytes(), &report))
	require.Equal(t, []Informer{{Name: "pods", IsVisible: true, Objects: -1, Queued: -1, Handlers: []Handler{}}}, report.Informers)
	require.Equal(t, []Controller{{Name: "c", QueueLength: -1, Processing: -1, Delayed: -1}}, report.Controllers)
	names := []string{}
	for _, k := range report.Keys {
		names = append(names, k.Key)
	}
	require.Equal(t, []string{"ns/stuck", "ns/often", "ns/<b>", "ns/rare"}, names)

	html := ask("GET", "", "text/html").Body.String()
	require.Contains(t, html, "not visible")
	require.NotContains(t, html, "<b>", "keys are escaped")
	require.Contains(t, ask("GET", "?key=ns/stuck", "text/html").Body.String(), "It is stuck")
	require.Contains(t, ask("GET", "?key=ns/none", "text/html").Body.String(), "Nothing is known of ns/none")

	r := httptest.NewRequest("POST", "http://program/?on=false", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, r)
	require.Equal(t, http.StatusForbidden, w.Code)
	require.True(t, l.IsOn())
}

type notSynced struct{}

func (notSynced) HasSynced() bool                 { return false }
func (notSynced) LastSyncResourceVersion() string { return "" }

func TestHandlerName_IsThatOfAFunctionOrAType(t *testing.T) {
	require.Contains(t, handlerName(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) {}}), "lens.TestHandlerName")
	require.Equal(t, "cache.ResourceEventHandlerFuncs", handlerName(cache.ResourceEventHandlerFuncs{}))
	require.Equal(t, "*lens.watchedHandler", handlerName(&watchedHandler{}))
}

func TestHandler_OfATombstone(t *testing.T) {
	l := New(Options{On: true})
	queue := WatchQueue(l, "c", workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()))
	defer queue.ShutDown()
	h := &watchedHandler{handler: cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) { queue.Add("ns/p") }}, lens: l, informer: "pods", name: "h"}
	h.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/p", Obj: (*corev1.Pod)(nil)})
	cause := l.Keys()[0].Pending[0]
	require.Equal(t, "delete of pods ns/p", cause.String())
}
