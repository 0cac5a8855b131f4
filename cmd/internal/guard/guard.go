package guard

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	reviewLifetime = 10 * time.Second // how long an answer of the cluster counts, a yes or a no
	maxReviews     = 4096
)

// Right is what a caller needs.
type Right = authorizationv1.ResourceAttributes

// Guard decides who reads what. Make one with One or Reviews. Its methods are safe for concurrent use.
type Guard struct {
	token      [sha256.Size]byte    // of the one token
	client     kubernetes.Interface // nil with the one token
	http       *http.Client
	identities *cache.LRUExpireCache // by hash of the token: authenticationv1.TokenReviewStatus
	rights     *cache.LRUExpireCache // by permission: authorizationv1.SubjectAccessReviewStatus
}

type accessStatus = authorizationv1.SubjectAccessReviewStatus

type permission struct {
	token [sha256.Size]byte
	right Right
}

// One admits the bearers of a token to everything. The token must not be empty.
func One(token string) *Guard {
	return &Guard{token: sha256.Sum256([]byte(token)), http: &http.Client{}}
}

// Reviews asks the cluster, which needs the rights to create TokenReviews and SubjectAccessReviews.
func Reviews(cfg *rest.Config) (*Guard, error) {
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	reviews, err := kubernetes.NewForConfigAndClient(cfg, client)
	return &Guard{client: reviews, http: client,
		identities: cache.NewLRUExpireCache(maxReviews), rights: cache.NewLRUExpireCache(maxReviews)}, err
}

// Close lets go of connections.
func (g *Guard) Close() { g.http.CloseIdleConnections() }

// Bearer is the token that a caller presents; "" without one.
func Bearer(r *http.Request) string {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return token
}

// Admit returns nil if the token is valid and its bearer has these rights.
func (g *Guard) Admit(ctx context.Context, token string, rights ...Right) error {
	hash := sha256.Sum256([]byte(token))
	if token == "" || g.client == nil && subtle.ConstantTimeCompare(hash[:], g.token[:]) != 1 {
		return apierrors.NewUnauthorized("want a valid bearer token")
	}
	if g.client == nil {
		return nil
	}
	who, err := remembered(g.identities, hash, func() (authenticationv1.TokenReviewStatus, error) {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		review, err := g.client.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
		return review.Status, err
	})
	if err != nil {
		return asking("who this is", err)
	}
	if !who.Authenticated {
		return apierrors.NewUnauthorized("want a valid bearer token")
	}
	for _, right := range rights {
		may, err := remembered(g.rights, permission{hash, right}, func() (accessStatus, error) {
			return g.review(ctx, who.User, right)
		})
		if err != nil {
			return asking("what "+who.User.Username+" may do", err)
		}
		if !may.Allowed {
			resource := schema.GroupResource{Group: right.Group, Resource: right.Resource}
			return apierrors.NewForbidden(resource, right.Name, fmt.Errorf("%s cannot %s it in namespace %q: %s",
				who.User.Username, right.Verb, right.Namespace, may.Reason))
		}
	}
	return nil
}

func (g *Guard) review(
	ctx context.Context, user authenticationv1.UserInfo, right Right,
) (accessStatus, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user.Username,
		UID: user.UID, Groups: user.Groups, Extra: extra, ResourceAttributes: &right}}
	review, err := g.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	return review.Status, err
}

// asking is a 503, whatever the cluster said: a refusal concerns this program, and not its caller.
func asking(what string, err error) error {
	return apierrors.NewServiceUnavailable(errors.Join(errors.New("cannot ask the cluster "+what), err).Error())
}

// remembered asks once in reviewLifetime. An error is not remembered.
func remembered[T any](known *cache.LRUExpireCache, question any, ask func() (T, error)) (T, error) {
	if answer, ok := known.Get(question); ok {
		return answer.(T), nil
	}
	answer, err := ask()
	if err == nil {
		known.Add(question, answer, reviewLifetime)
	}
	return answer, err
}
