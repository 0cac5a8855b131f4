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

	"golang.org/x/sync/singleflight"
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
	reviewPatience = 10 * time.Second // how long the cluster has for an answer
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
	asked      singleflight.Group    // callers with the same question share one review
}

type (
	identity     = authenticationv1.TokenReviewStatus
	accessStatus = authorizationv1.SubjectAccessReviewStatus
)

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
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // no limit: callers would wait for it, which are limited already
	reviews, err := kubernetes.NewForConfigAndClient(cfg, client)
	return &Guard{client: reviews, http: client,
		identities: cache.NewLRUExpireCache(maxReviews), rights: cache.NewLRUExpireCache(maxReviews)}, err
}

// Close lets go of connections.
func (g *Guard) Close() { g.http.CloseIdleConnections() }

// Bearer is the token that a caller presents; "" without one, or with another scheme.
func Bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
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
	who, err := remembered(ctx, g, g.identities, hash, func(ctx context.Context) (identity, error) {
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
		may, err := remembered(ctx, g, g.rights, permission{hash, right}, func(ctx context.Context) (accessStatus, error) {
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

// remembered asks once in reviewLifetime, however many callers come at the same time. An error is not remembered. ask
// has a context of its own: a caller that goes away must not take the answer from the others.
func remembered[T any](
	ctx context.Context, g *Guard, known *cache.LRUExpireCache, question any, ask func(context.Context) (T, error),
) (none T, err error) {
	if answer, ok := known.Get(question); ok {
		return answer.(T), nil
	}
	shared := g.asked.DoChan(fmt.Sprintf("%#v", question), func() (any, error) {
		if answer, ok := known.Get(question); ok { // another review has ended since
			return answer, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewPatience)
		defer cancel()
		answer, err := ask(ctx)
		if err == nil {
			known.Add(question, answer, reviewLifetime)
		}
		return answer, err
	})
	select {
	case result := <-shared:
		if result.Err != nil {
			return none, result.Err
		}
		return result.Val.(T), nil
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}
