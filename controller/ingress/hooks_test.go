package ingress

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/rest"

	"glasswatch/controller/ingress/ingresstest"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
)

// Without hooks these are all the requests, up to the first write.
func TestController_ItsRequestsAreTheseAndNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		world, cfg, served := ingresstest.Serve(ctx, t)
		var mu sync.Mutex
		var heard []string
		wrapped := rest.CopyConfig(cfg)
		wrapped.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return apiservertest.RoundTripper(func(req *http.Request) (*http.Response, error) {
				mu.Lock()
				heard = append(heard, req.Method+" "+req.URL.String())
				mu.Unlock()
				return next.RoundTrip(req)
			})
		})
		c, err := New(wrapped, Options{Config: testConfig})
		require.NoError(t, err)
		ran := make(chan error, 1)
		go func() { ran <- c.Run(ctx) }()
		<-time.After(time.Second)
		require.NoError(t, world.Play(ctx, ingresstest.Move{Kind: "create", Name: "a"}))
		<-time.After(time.Minute)
		mu.Lock()
		sent := slices.Clone(heard)
		mu.Unlock()
		cancel()
		require.NoError(t, <-ran)
		require.NoError(t, <-served)
		list := "allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true"
		var got []string
		for _, request := range sent {
			got = append(got, timeoutSeconds.ReplaceAllString(request, ""))
		}
		host := cfg.Host
		require.ElementsMatch(t, []string{
			"GET " + host + "/api/v1/services?" + list + "&watch=true",
			"GET " + host + "/apis/networking.k8s.io/v1/ingresses?" + list + "&watch=true",
			"POST " + host + "/apis/networking.k8s.io/v1/namespaces/default/ingresses?fieldManager=glasswatch-ingress",
		}, got)
	})
}

var timeoutSeconds = regexp.MustCompile(`&timeoutSeconds=\d+`)

// What a view does not show is not there, and what is remembered is remembered in all views.
func TestReconciler_InAViewItDoesNothingToAServiceThatIsNotShown(t *testing.T) {
	b := newBench(t)
	b.serviceIs()
	nothing := b.r.In(View{Services: &ingresstest.Cache[*corev1.Service]{}, Ingresses: b.ingresses})
	_, err := nothing.Reconcile(t.Context(), webKey)
	require.NoError(t, err)
	b.wrote()
	all := b.r.In(View{Services: b.services, Ingresses: b.ingresses, Label: Label{"ingress/shard", "16-1"}})
	_, err = all.Reconcile(t.Context(), webKey)
	require.NoError(t, err)
	b.wrote(created)
	require.Equal(t, map[string]string{"ingress/shard": "16-1"}, b.server.stored.Labels)
	require.True(t, b.r.Remembers(webKey))
	b.expect() // the cache is behind
	b.r.Forget(webKey)
	require.False(t, b.r.Remembers(webKey))
}

// A view that is older than the own write is waited for, for a minute.
func TestReconciler_AViewThatIsOldIsBehindTheOwnWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.serviceIs()
		b.expect(created)
		old := &ingresstest.Cache[*networkingv1.Ingress]{Objects: map[listwatch.Key]*networkingv1.Ingress{}, Version: 1}
		r := b.r.In(View{Services: b.services, Ingresses: old})
		result, err := r.Reconcile(t.Context(), webKey)
		require.NoError(t, err)
		require.Equal(t, lookAgainDelay, result.RequeueAfter)
		b.wrote()
		<-time.After(staleCacheLimit)
		_, err = r.Reconcile(t.Context(), webKey)
		require.NoError(t, err)
		b.wrote(created)
	})
}
