package audit

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/lens/look"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "shop/web"

func shardZero(string) int { return 0 }

// fence shows a version of the fence of shard 0.
func fence(a *Audit, version int, owner string) {
	lease(a, "demo-shard-4-0", version, owner+"/4/nonce")
}

// lease shows a version of a Lease.
func lease(a *Audit, name string, version int, term string) {
	a.SawLease(&coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: strconv.Itoa(version)},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &term},
	})
}

func ingress(version, generation int) *networkingv1.Ingress {
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", ResourceVersion: strconv.Itoa(version), Generation: int64(generation),
	}}
}

// write sends an Ingress through a wire to a server that answers with a version, or not at all.
func write(t *testing.T, w *Wire, version int, failure error) error {
	t.Helper()
	server := apiservertest.RoundTripper(func(*http.Request) (*http.Response, error) {
		if failure != nil {
			return nil, failure
		}
		body := `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"namespace":"shop","name":"web",` +
			`"resourceVersion":"` + strconv.Itoa(version) + `"}}`
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch,
		"http://server/apis/networking.k8s.io/v1/namespaces/shop/ingresses/web", nil)
	require.NoError(t, err)
	resp, err := w.Wrap(server).RoundTrip(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"name":"web"`, "the caller gets the body, too")
	return resp.Body.Close()
}

func TestAudit_AWriteIsRightIfTheLeasesNamedItsSenderThen(t *testing.T) {
	for name, c := range map[string]struct {
		play     func(t *testing.T, a *Audit)
		unfenced int
	}{
		"the owner": {func(t *testing.T, a *Audit) { require.NoError(t, write(t, a.Wire("a"), 20, nil)) }, 0},
		"the next owner, too early": {func(t *testing.T, a *Audit) {
			require.NoError(t, write(t, a.Wire("b"), 20, nil))
			fence(a, 30, "b")
		}, 1},
		"the former owner, too late": {func(t *testing.T, a *Audit) {
			fence(a, 15, "b")
			require.NoError(t, write(t, a.Wire("a"), 20, nil))
		}, 1},
		"the owner, who renews": {func(t *testing.T, a *Audit) {
			lease(a, "demo-member-a", 18, "a/4/nonce")
			require.NoError(t, write(t, a.Wire("a"), 20, nil))
		}, 0},
		"the owner, whose Lease has ended": {func(t *testing.T, a *Audit) {
			lease(a, "demo-member-a", 18, "")
			require.NoError(t, write(t, a.Wire("a"), 20, nil))
		}, 1},
		"the owner, who has joined anew": {func(t *testing.T, a *Audit) {
			lease(a, "demo-member-a", 18, "a/4/other")
			require.NoError(t, write(t, a.Wire("a"), 20, nil))
		}, 1},
		"nobody": {func(*testing.T, *Audit) {}, 1},
		"the owner, whose answer was lost": {func(t *testing.T, a *Audit) {
			require.Error(t, write(t, a.Wire("a"), 0, errors.New("lost")))
		}, 0},
		"the owner, whose creation has no answer": {func(t *testing.T, a *Audit) {
			lost := apiservertest.RoundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("lost") })
			body := `{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"web"}}`
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
				"http://server/apis/networking.k8s.io/v1/namespaces/shop/ingresses", strings.NewReader(body))
			require.NoError(t, err)
			_, err = a.Wire("a").Wrap(lost).RoundTrip(req)
			require.Error(t, err)
		}, 0},
		"the former owner, whose answer was lost": {func(t *testing.T, a *Audit) {
			require.Error(t, write(t, a.Wire("a"), 0, errors.New("lost")))
			fence(a, 15, "b")
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := New("demo", 4)
			lease(a, "demo-member-a", 5, "a/4/nonce")
			lease(a, "demo-member-b", 6, "b/4/nonce")
			fence(a, 10, "a")
			c.play(t, a)
			a.SawIngress(ingress(20, 1))
			a.SawIngress(ingress(25, 1)) // the status: not a write of replicas
			taken, unfenced := a.Writes(shardZero)
			assert.Equal(t, 1, taken)
			assert.Len(t, unfenced, c.unfenced)
		})
	}
}

func TestAudit_AKeyThatTwoReplicasHaveAtOnceIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New("demo", 4)
		tell := func(replica string, at look.Boundary) {
			a.Observe(replica)(look.Event{At: at, Key: key})
			<-time.After(time.Second) // virtual: it orders the moments
		}
		tell("a", look.Taken)
		tell("a", look.Decided)
		tell("b", look.Taken)
		tell("b", look.Decided)
		assert.Empty(t, a.AtOnce(), "one after the other")
		tell("a", look.Taken)
		tell("b", look.Taken)
		tell("a", look.Decided)
		assert.Empty(t, a.AtOnce(), "b may drop the key")
		tell("b", look.Decided)
		assert.Equal(t, []string{key}, a.AtOnce())
		assert.Equal(t, time.Second, a.LastWork("b").Sub(a.LastWork("a")))
	})
}

func TestAudit_KnowsWhomFencesNameAndWhenOneWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New("demo", 4)
		begun := time.Now()
		fence(a, 1, "a")
		assert.Equal(t, []string{"a", "", "", ""}, a.Owners())
		assert.Zero(t, a.FirstLoss("a", begun))
		<-time.After(time.Second)
		fence(a, 2, "b")
		assert.Equal(t, time.Second, a.FirstLoss("a", begun).Sub(begun))
		for _, name := range []string{"demo-member-a", "demo-shard-8-0", "demo-shard-4-7", "demo-shard-4-x"} {
			a.SawLease(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		assert.Equal(t, []string{"b", "", "", ""}, a.Owners(), "other Leases do not count")
	})
}

func TestWire_FailsWhatIsOnItsWayOnceItIsCut(t *testing.T) {
	a := New("demo", 4)
	w := a.Wire("a")
	require.True(t, w.IsUp())
	arrived := make(chan struct{})
	hangs := apiservertest.RoundTripper(func(req *http.Request) (*http.Response, error) {
		close(arrived)
		<-req.Context().Done()
		return nil, req.Context().Err()
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server/", nil)
	require.NoError(t, err)
	failed := make(chan error)
	go func() {
		_, err := w.Wrap(hangs).RoundTrip(req)
		failed <- err
	}()
	<-arrived
	w.Cut()
	require.ErrorIs(t, <-failed, ErrCut)
	require.False(t, w.IsUp())
	require.ErrorIs(t, write(t, w, 20, nil), ErrCut, "nothing is sent")
	w.Mend()
	require.NoError(t, write(t, w, 20, nil))
}

func TestWire_CountsListsAndNotTheirPagesOrWatches(t *testing.T) {
	a := New("demo", 4)
	answers := apiservertest.RoundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})
	w := a.Wire("a")
	for _, path := range []string{
		"/api/v1/services",
		"/api/v1/services?limit=500&continue=token",
		"/api/v1/namespaces/shop/services?watch=true&resourceVersion=7",
		"/apis/networking.k8s.io/v1/ingresses?watch=true&sendInitialEvents=true",
		"/apis/networking.k8s.io/v1/namespaces/shop/ingresses/web",
		"/apis/coordination.k8s.io/v1/namespaces/default/leases",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server"+path, nil)
		require.NoError(t, err)
		resp, err := w.Wrap(answers).RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	assert.Equal(t, map[string]int{"a": 2}, a.Lists())
}
