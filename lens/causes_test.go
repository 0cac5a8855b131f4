package lens

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/observe"
)

// told plays what informers, workers and clients tell a lens, without any of them.
type told struct {
	*testing.T
	*Lens
}

func tell(t *testing.T) told {
	l := New(Options{On: true})
	l.ObserveInformer("things")
	return told{t, l}
}

// event is a call of a handler, in a goroutine of its own, that enqueues a key.
func (l told) event(controller, key string, c Cause) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Informer, c.Handler, c.Object = "things", "h", "ns/p"
		self := l.called(c, func(c *Cause) { c.Fields = []string{".field"} })
		l.enqueued(controller, key, "the program", 0)
		l.returned(self, "things", "h")
	}()
	<-done
}

// reconcile is one that writes ns/p at a version, if that is not empty.
func (l told) reconcile(controller, key, writes string) {
	l.taken(controller, key)
	if writes != "" {
		by, _ := l.beginWrite("ns/p")
		l.endWrite(by, "ns/p", Write{Verb: "PUT", Code: 200, Object: "ns/p", ResourceVersion: writes})
	}
	l.done(controller, key)
}

// key returns what is known of a key of a controller.
func (l told) key(controller, key string) Key {
	l.Helper()
	found := l.keysThat(func(name id) bool { return name == id{controller, key} })
	require.Len(l, found, 1)
	return found[0]
}

func TestOwnWrite_IsNotWhatAResyncOrAListTellsAgain(t *testing.T) {
	for _, action := range []string{"resync", "list"} {
		l := tell(t)
		l.reconcile("c", "ns/p", "7")
		for range inARow {
			l.event("c", "ns/p", Cause{Action: action, ResourceVersion: "7"})
			l.reconcile("c", "ns/p", "")
		}
		require.False(t, l.key("c", "ns/p").WakesItself, action)
	}
}

func TestOwnWrite_IsNotThatOfAnotherControllersSameKey(t *testing.T) {
	l := tell(t)
	for i := range inARow {
		version := fmt.Sprint(10 + i)
		l.reconcile("writer", "ns/p", version)
		l.event("reader", "ns/p", Cause{Action: "update", ResourceVersion: version})
		l.reconcile("reader", "ns/p", "")
	}
	require.False(t, l.key("reader", "ns/p").WakesItself)
	require.Equal(t, "ns/p", l.key("reader", "ns/p").Reconciles[0].Causes[0].OwnWriteOf)
}

func TestDelayed_IsNoCauseBeforeItsTimeAndHidesNoHotLoop(t *testing.T) {
	l := tell(t)
	l.enqueued("c", "ns/p", "the program", 0)
	for i := range inARow + 1 {
		version := fmt.Sprint(10 + i)
		l.reconcile("c", "ns/p", version)
		l.enqueued("c", "ns/p", "later", time.Hour-time.Duration(i)*time.Minute)
		l.event("c", "ns/p", Cause{Action: "update", ResourceVersion: version})
	}
	k := l.key("c", "ns/p")
	require.True(t, k.WakesItself)
	require.Len(t, k.Pending, 2, "the event, and one delay")
	require.Equal(t, 57*time.Minute, k.Pending[0].Delay, "the soonest")
}

func TestAddRateLimited_ByAHandlerEndsNoReconcile(t *testing.T) {
	l := tell(t)
	queue := WatchQueue(l.Lens, "c", workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()))
	defer queue.ShutDown()
	queue.Add("ns/p")
	key, _ := queue.Get()
	done := make(chan struct{})
	go func() {
		defer close(done)
		queue.AddRateLimited("ns/p")
	}()
	<-done
	queue.Forget(key)
	queue.Done(key)
	require.Equal(t, "ok", l.key("c", "ns/p").Reconciles[0].Outcome)
}

func TestHandlers_OfOneNameKeepTheirCallsApart(t *testing.T) {
	l := tell(t)
	began, other, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	first := &watchedHandler{handler: cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) {
		close(began)
		<-other
		l.enqueued("c", "ns/first", "the program", 0)
	}}, lens: l.Lens, informer: "things", name: "h"}
	second := &watchedHandler{handler: cache.ResourceEventHandlerFuncs{}, lens: l.Lens, informer: "things", name: "h"}
	go func() {
		defer close(done)
		first.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/first"})
	}()
	<-began
	second.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/second"})
	close(other)
	<-done
	require.Equal(t, "ns/first", l.key("c", "ns/first").Pending[0].Object)
	require.Empty(t, l.doing)
	require.Equal(t, 2, l.Informers()[0].Handlers[0].Calls)
}

func TestWriting_KeepsFewEventsWhileARequestHasNoAnswer(t *testing.T) {
	l := tell(t)
	l.taken("c", "k")
	_, found := l.beginWrite("ns/")
	require.True(t, found)
	for i := range 2 * maxEvents {
		l.event("c", "k", Cause{Action: "update", ResourceVersion: fmt.Sprint(i)})
	}
	require.Len(t, l.writing["ns/"].events, maxEvents)
}

func TestDeletion_OfAnotherObjectOfThatNameIsNotOwn(t *testing.T) {
	l := tell(t)
	const status = `{"kind":"Status","details":{"name":"p","uid":"u1"}}`
	next := l.Transport(answeringWith("application/json", status))
	l.taken("c", "k")
	_, err := next.RoundTrip(httptest.NewRequest("DELETE", "http://server/api/v1/namespaces/ns/configmaps/p", nil))
	require.NoError(t, err)
	l.done("c", "k")
	l.event("c", "k", Cause{Action: "delete", uid: "u2"})
	l.event("c", "k", Cause{Action: "delete", uid: "u1"})
	pending := l.key("c", "k").Pending
	require.Empty(t, pending[0].OwnWriteOf)
	require.Equal(t, "k", pending[1].OwnWriteOf)
}

func TestTransport_ReadsNoStreamAndNoDryRun(t *testing.T) {
	for contentType, query := range map[string]string{"text/event-stream": "", "application/json": "?dryRun=All"} {
		l := tell(t)
		next := l.Transport(answeringWith(contentType, `{"metadata":{"name":"p","namespace":"ns","resourceVersion":"5"}}`))
		l.taken("c", "k")
		answer, err := next.RoundTrip(httptest.NewRequest("PUT", "http://server/api/v1/namespaces/ns/pods/p"+query, nil))
		require.NoError(t, err)
		require.NotContains(t, fmt.Sprintf("%T", answer.Body), "readAgain")
		l.done("c", "k")
		l.event("c", "k", Cause{Action: "update", ResourceVersion: "5"})
		require.Empty(t, l.key("c", "k").Pending[0].OwnWriteOf)
	}
}

func answeringWith(contentType, body string) http.RoundTripper {
	return answering(func(*http.Request) (*http.Response, error) {
		header := http.Header{"Content-Type": {contentType}}
		return &http.Response{StatusCode: 200, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
	})
}

func TestSwitch_CountsCallsAnew(t *testing.T) {
	l := tell(t)
	l.event("c", "k", Cause{Action: "add"})
	l.Switch(false)
	l.Switch(true)
	require.Empty(t, l.Informers()[0].Handlers)
}

func TestWhy_OfAKeyThatIsBeingReconciled(t *testing.T) {
	l := tell(t)
	l.event("c", "ns/p", Cause{Action: "add", ResourceVersion: "3"})
	l.taken("c", "ns/p")
	require.Contains(t, l.Why("ns/p"), "it is being reconciled because of add of things ns/p at 3")
	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/?key=ns/p", nil))
	require.Contains(t, w.Body.String(), "It is being reconciled because of")
}

func TestOutcome_IsAShortLine(t *testing.T) {
	l := tell(t)
	l.taken("c", "k")
	l.ended("c", "k", outcomeOf(errors.New("first\nsecond "+strings.Repeat("x", 1<<20))))
	l.done("c", "k")
	outcome := l.key("c", "k").Reconciles[0].Outcome
	require.Contains(t, outcome, "failed: first second xxx")
	require.Less(t, len(outcome), maxOutcome+10)
}

func TestAddRateLimited_OfAnotherKeyEndsNoReconcile(t *testing.T) {
	l := tell(t)
	l.taken("c", "k")
	l.ended("c", "other", failed)
	l.done("c", "k")
	require.Equal(t, "ok", l.key("c", "k").Reconciles[0].Outcome)
}

func TestOwnWrite_ThatChangesNothingLeavesTheVersionToItsWriter(t *testing.T) {
	l := tell(t)
	l.reconcile("writer", "ns/p", "7")
	l.reconcile("idle", "ns/p", "7")
	l.event("writer", "ns/p", Cause{Action: "update", ResourceVersion: "7"})
	require.Equal(t, id{"writer", "ns/p"}, l.key("writer", "ns/p").Pending[0].writer)
}

// The answer to a patch that changes nothing has the version of whoever wrote last, whose event is yet to come.
func TestOwnWrite_IsNotThatOfSomebodyElseThatAPatchHasLeft(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
		l := tell(t)
		cfg := rest.CopyConfig(s.Config)
		cfg.Wrap(l.Transport)
		maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
		patch := func(value string) {
			l.taken("c", "k")
			text := fmt.Appendf(nil, `{"data":{"value":%q}}`, value)
			_, err := maps.Patch(t.Context(), "p", types.MergePatchType, text, metav1.PatchOptions{FieldManager: "mine"})
			require.NoError(t, err)
			l.done("c", "k")
		}
		h := &watchedHandler{handler: cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) {
			l.enqueued("c", "k", "the program", 0)
		}}, lens: l.Lens, informer: "things", name: "h"}
		before := s.Put("p", "1")
		comes := func() string {
			now, err := s.Client.CoreV1().ConfigMaps("default").Get(t.Context(), "p", metav1.GetOptions{})
			require.NoError(t, err)
			h.OnUpdate(before, now)
			before = now
			apiservertest.Pass(time.Second) // managedFields have seconds
			pending := l.key("c", "k").Pending
			return pending[len(pending)-1].OwnWriteOf
		}
		apiservertest.Pass(time.Second)
		patch("2")
		require.Equal(t, "k", comes())
		s.Put("p", "3")
		patch("3")
		require.Empty(t, comes())
		patch("4")
		require.Equal(t, "k", comes())
	})
}

func TestManagerOf_IsTheNameInManagedFields(t *testing.T) {
	for query, agent := range map[string]string{"?fieldManager=mine": "other/v1", "": "mine/v1 (linux)"} {
		r := httptest.NewRequest("PATCH", "http://server/api/v1/namespaces/ns/pods/p"+query, nil)
		r.Header.Set("User-Agent", agent)
		require.Equal(t, "mine", managerOf(r))
	}
	r := httptest.NewRequest("PATCH", "http://server/", nil)
	r.Header.Set("User-Agent", strings.Repeat("long", 32)+"/v1")
	require.Empty(t, managerOf(r), "it may be cut")
}

// A handler that was removed may be in its last call when the next one of its name is in its first.
func TestObserveInformer_HandlersOfOneNameKeepTheirCallsApart(t *testing.T) {
	l := New(Options{On: true})
	observer := l.ObserveInformer("things")
	tell := func(step observe.Step) {
		observer([]observe.Observation[listwatch.Key]{{Step: step, Kind: "OnAdd", Handler: "h"}})
	}
	called, returned, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tell(observe.Called)
		close(called)
		<-returned
		l.enqueued("c", "ns/last", "the program", 0)
		tell(observe.Returned)
	}()
	<-called
	tell(observe.Called)
	tell(observe.Returned)
	close(returned)
	<-done
	require.Equal(t, "add", told{t, l}.key("c", "ns/last").Pending[0].Action)
	tell(observe.Called)
	tell(observe.Returned)
	require.Empty(t, l.doing)
	require.Equal(t, 3, l.Informers()[0].Handlers[0].Calls)
}
