package guard

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster answers reviews: a token that begins with ann is Ann's, who may list pods.
type cluster struct {
	reviews int
	down    bool
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.reviews++
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

func TestReviews_AskTheClusterOnce(t *testing.T) {
	c := &cluster{}
	server := httptest.NewServer(c)
	defer server.Close()
	asJSON := rest.ContentConfig{ContentType: runtime.ContentTypeJSON}
	g, err := Reviews(&rest.Config{Host: server.URL, ContentConfig: asJSON})
	require.NoError(t, err)
	defer g.Close()
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
	err = g.Admit(t.Context(), "ann's second", list)
	require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	require.True(t, apierrors.IsServiceUnavailable(g.Admit(t.Context(), "ann", Right{Verb: "list", Resource: "nodes"})))
	c.down = false
	require.NoError(t, g.Admit(t.Context(), "ann's second", list), "an error is not remembered")
}

func TestBearer_ReadsTheHeader(t *testing.T) {
	for header, want := range map[string]string{"Bearer abc": "abc", "Basic abc": "Basic abc", "": ""} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", header)
		require.Equal(t, want, Bearer(r))
	}
}
