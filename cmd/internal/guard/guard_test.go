package guard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver/apiservertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster answers reviews: a token that begins with ann is Ann's, who may list pods.
type cluster struct {
	mu      sync.Mutex
	reviews int
	down    bool
	hold    chan struct{} // if not nil, answers wait until it is closed
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.reviews++
	c.mu.Unlock()
	if c.hold != nil {
		<-c.hold
	}
	var answer runtime.Object
	switch r.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		review := &authenticationv1.TokenReview{}
		_ = json.NewDecoder(r.Body).Decode(review)
		if strings.HasPrefix(review.Spec.Token, "ann") {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
				Username: "Ann", Groups: []string{"staff"},
				Extra: map[string]authenticationv1.ExtraValue{"scope": {"a"}}}}
		}
		answer = review
	default:
		review := &authorizationv1.SubjectAccessReview{}
		_ = json.NewDecoder(r.Body).Decode(review)
		asked := review.Spec
		review.Status.Allowed = asked.User == "Ann" && asked.Groups[0] == "staff" && asked.Extra["scope"][0] == "a" &&
			asked.ResourceAttributes.Verb == "list" && asked.ResourceAttributes.Resource == "pods"
		answer = review
	}
	w.Header().Set("Content-Type", "application/json")
	if c.down {
		w.WriteHeader(http.StatusForbidden) // as for a program without the right to ask
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func TestOne_AdmitsItsTokenAndNoOther(t *testing.T) {
	g := One("0123456789abcdef")
	require.NoError(t, g.Admit(t.Context(), "0123456789abcdef", Right{Verb: "list", Resource: "pods"}))
	for _, token := range []string{"", "0123456789abcde", "0123456789abcdef0"} {
		require.True(t, apierrors.IsUnauthorized(g.Admit(t.Context(), token)))
	}
	require.True(t, apierrors.IsUnauthorized(One("").Admit(t.Context(), "")), "a forgotten token admits nobody")
}

// guard returns a Guard that asks c.
func (c *cluster) guard(t *testing.T) *Guard {
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	asJSON := rest.ContentConfig{ContentType: runtime.ContentTypeJSON}
	g, err := Reviews(&rest.Config{Host: server.URL, ContentConfig: asJSON})
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return g
}

func TestReviews_CallersOfOneTokenShareAReview(t *testing.T) {
	c := &cluster{hold: make(chan struct{})}
	g := c.guard(t)
	require.Nil(t, g.client.AuthenticationV1().RESTClient().GetRateLimiter(), "nobody waits for other callers' reviews")
	impatient, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() { gone <- g.Admit(impatient, "ann") }()
	apiservertest.Eventually(t, "a review", func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.reviews == 0 {
			return errors.New("not asked for")
		}
		return nil
	})
	answers := make(chan error, 100)
	for range cap(answers) {
		go func() { answers <- g.Admit(t.Context(), "ann") }()
	}
	cancel()
	require.True(t, apierrors.IsServiceUnavailable(<-gone), "its caller waits no longer")
	close(c.hold)
	for range cap(answers) {
		require.NoError(t, <-answers)
	}
	require.Equal(t, 1, c.reviews)
}

func TestReviews_AskTheClusterOnce(t *testing.T) {
	c := &cluster{}
	g := c.guard(t)
	list, watch := Right{Verb: "list", Resource: "pods"}, Right{Verb: "watch", Resource: "pods"}
	for range 5 {
		require.NoError(t, g.Admit(t.Context(), "ann", list))
	}
	require.Equal(t, 2, c.reviews)
	for range 5 {
		require.True(t, apierrors.IsForbidden(g.Admit(t.Context(), "ann", list, watch)))
		require.True(t, apierrors.IsUnauthorized(g.Admit(t.Context(), "bob", list)))
		require.True(t, apierrors.IsUnauthorized(g.Admit(t.Context(), "")))
	}
	require.Equal(t, 4, c.reviews, "a no is remembered as well")
	c.down = true
	require.NoError(t, g.Admit(t.Context(), "ann", list))
	err := g.Admit(t.Context(), "ann's second", list)
	require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	require.True(t, apierrors.IsServiceUnavailable(g.Admit(t.Context(), "ann", Right{Verb: "list", Resource: "nodes"})))
	c.down = false
	require.NoError(t, g.Admit(t.Context(), "ann's second", list), "an error is not remembered")
}

func TestBearer_ReadsTheHeader(t *testing.T) {
	for header, want := range map[string]string{"Bearer abc": "abc", "bearer abc": "abc", "Bearer": "",
		"abc": "", "Basic abc": "", "": ""} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", header)
		require.Equal(t, want, Bearer(r))
	}
}
