package ingress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"

	"glasswatch/listwatch/shard"
)

// Whatever happens to the cluster and to the replicas: once all is quiet, each of the rules holds.
func TestShards_NothingIsLostWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		by := rapid.SampledFrom(divisions).Draw(rt, "by")
		moves := drawMoves(rt)
		at := rapid.SliceOfN(rapid.IntRange(0, 8), len(moves), len(moves)).Draw(rt, "replicas")
		var err error
		inTroupe(t, by, func(tr *troupe) { err = tr.playAll(moves, at) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// playAll plays the moves, and beside each a change of the replicas: one joins, leaves, is cut off or back again.
func (tr *troupe) playAll(moves []move, at []int) error {
	ctx := context.Background()
	for _, name := range []string{"r0", "r1", "r2"} {
		tr.join(name)
	}
	for i, m := range moves {
		if err := tr.play(ctx, m); err != nil {
			return fmt.Errorf("%+v: %w", m, err)
		}
		name := fmt.Sprintf("r%d", at[i]%3)
		switch r := tr.replicas[name]; {
		case at[i] < 3 && r == nil:
			tr.join(name)
		case at[i] < 3 && len(tr.replicas) > 1:
			r.setCut(false)
			tr.leave(name)
		case at[i] < 6 && r != nil:
			r.setCut(true)
			<-time.After(20 * time.Second)
		}
	}
	tr.server.Faults().Reset()
	for _, r := range tr.replicas {
		r.setCut(false)
	}
	<-time.After(10 * time.Minute) // longer than every backoff and every contest
	synctest.Wait()
	err := tr.check(ctx)
	for name, r := range tr.replicas {
		if ready := r.Ready(); ready != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, ready))
		}
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.twice) > 0 {
		err = errors.Join(err, fmt.Errorf("two at a time: %v", tr.twice))
	}
	return err
}

// createServices makes namespaces, and in each so many Services that ask for an Ingress.
func (tr *troupe) createServices(namespaces, each int) {
	for n := range namespaces {
		ns := fmt.Sprintf("%c-shop", 'a'+n)
		require.NoError(tr.t, tr.server.SeedNamespaces(ns))
		for s := range each {
			svc := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("s%d", s), Annotations: map[string]string{"ingress/http": "true"},
				},
				Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{tcp("http", 80)}},
			}
			_, err := tr.client.CoreV1().Services(ns).Create(context.Background(), svc, metav1.CreateOptions{})
			require.NoError(tr.t, err)
		}
	}
}

// Shards move while writes are on their way: no other replica writes to an Ingress before those have returned.
func TestShards_AMoveWaitsForWhatIsBeingWritten(t *testing.T) {
	for _, by := range divisions {
		t.Run(string(by), func(t *testing.T) {
			inTroupe(t, by, func(tr *troupe) {
				tr.workers, tr.latency = 8, 2*time.Second
				tr.join("r0")
				<-time.After(time.Minute)
				tr.createServices(12, 8)
				for range 3 {
					<-time.After(3 * time.Second)
					tr.join("r1")
					<-time.After(5 * time.Second)
					tr.leave("r1")
				}
				<-time.After(5 * time.Minute)
				tr.mu.Lock()
				defer tr.mu.Unlock()
				require.Empty(t, tr.twice)
				all, err := tr.client.NetworkingV1().Ingresses("").List(context.Background(), metav1.ListOptions{})
				require.NoError(t, err)
				require.Len(t, all.Items, 12*8)
			})
		})
	}
}

// All work: each replica writes some of the Ingresses, and none is written twice.
func TestShards_AllReplicasWorkAndEachServiceIsOnes(t *testing.T) {
	for _, by := range divisions {
		t.Run(string(by), func(t *testing.T) {
			inTroupe(t, by, func(tr *troupe) {
				for n := range 3 {
					tr.join(fmt.Sprintf("r%d", n))
				}
				<-time.After(time.Minute)
				tr.createServices(12, 4)
				<-time.After(time.Minute)
				posts := 0
				for name, r := range tr.replicas {
					require.NoError(t, r.Ready())
					own := 0
					r.mu.Lock()
					for _, request := range r.heard {
						if strings.HasPrefix(request, "POST") && strings.Contains(request, "/ingresses") {
							own++
						}
					}
					r.mu.Unlock()
					require.NotZero(t, own, name)
					posts += own
				}
				require.Equal(t, 12*4, posts)
			})
		})
	}
}

// A server that does not know shards sends each replica the objects of both. The replica drops the other's, and counts.
func TestShards_ObjectsOfOtherShardsAreDroppedAndCounted(t *testing.T) {
	for _, noShards := range []bool{true, false} {
		inTroupe(t, shard.Namespace, func(tr *troupe) {
			tr.noShards = noShards
			for n := range 12 {
				ns := fmt.Sprintf("%c-shop", 'a'+n)
				require.NoError(t, tr.server.SeedNamespaces(ns))
				svc := &corev1.Service{
					ObjectMeta: metav1.ObjectMeta{Name: "s"},
					Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{tcp("http", 80)}},
				}
				_, err := tr.client.CoreV1().Services(ns).Create(tr.t.Context(), svc, metav1.CreateOptions{})
				require.NoError(t, err)
			}
			tr.join("r0")
			tr.join("r1")
			<-time.After(time.Minute)
			held, dropped := 0, 0.0
			for _, r := range tr.replicas {
				held += r.services.Store().Len()
				families, err := r.reg.Gather()
				require.NoError(t, err)
				for _, family := range families {
					if family.GetName() == "shards_foreign_objects_total" {
						dropped += family.GetMetric()[0].GetCounter().GetValue()
					}
				}
			}
			require.Equal(t, 12+1, held, "and the Service of the API server")
			require.Equal(t, noShards, dropped >= 12, "%v objects were dropped", dropped)
		})
	}
}

// The Services come at once, and the Ingresses later. Until then it would seem that there are none.
func TestShards_NothingIsReconciledBeforeBothKindsAreListed(t *testing.T) {
	inTroupe(t, shard.Namespace, func(tr *troupe) {
		require.NoError(t, tr.play(context.Background(), move{Kind: "create", Name: "a"}))
		require.NoError(t, tr.play(context.Background(), move{Kind: "create", Name: "b"}))
		require.NoError(t, tr.play(context.Background(), move{Kind: "create stranger", Name: "a"}))
		r := tr.joinDeaf("r", "/ingresses")
		<-time.After(5 * time.Minute)
		require.Positive(t, r.services.Store().Len())
		require.Error(t, r.Ready())
		for _, request := range r.requests() {
			require.NotContains(t, request, "POST http://apiserver.pipe/apis/networking.k8s.io")
		}
		r.mu.Lock()
		r.deaf = ""
		r.mu.Unlock()
		<-time.After(5 * time.Minute)
		require.NoError(t, r.Ready())
		require.NoError(t, tr.check(context.Background()))
		posts := 0
		for _, request := range r.requests() {
			if strings.HasPrefix(request, "POST") && strings.Contains(request, "/ingresses") {
				posts++
			}
		}
		require.Equal(t, 1, posts, "one of a stranger's name would be refused")
	})
}

func (r *sharded) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.heard)
}

// Without shards nothing differs: these are the requests that the controller sent before it knew shards.
func TestShards_OffTheRequestsAreTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		world, cfg, served := serveWorld(ctx, t)
		tr := &troupe{chaos: world, t: t, writing: map[string]string{}}
		r, heard := &sharded{answers: map[string]int{}}, rest.CopyConfig(cfg)
		heard.Wrap(func(next http.RoundTripper) http.RoundTripper { return tr.watched("r", r, next) })
		c, err := New(heard, Options{Config: testConfig})
		require.NoError(t, err)
		ran := make(chan error, 1)
		go func() { ran <- c.Run(ctx) }()
		<-time.After(time.Second)
		require.NoError(t, world.play(ctx, move{Kind: "create", Name: "a"}))
		<-time.After(time.Minute)
		sent := r.requests()
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

// A Service that was made again while its key was on the way is another one, perhaps in another replica's shard.
func TestShards_AServiceOfAnotherShardIsLeftAlone(t *testing.T) {
	b := newBench(t)
	svc := b.serviceIs()
	owned := func(uid string) scope {
		return scope{owns: func(svc *corev1.Service) bool { return string(svc.UID) == uid }}
	}
	_, err := b.r.reconcileIn(t.Context(), owned("svc-0"), webKey)
	require.NoError(t, err)
	b.wrote()
	_, err = b.r.reconcileIn(t.Context(), owned(string(svc.UID)), webKey)
	require.NoError(t, err)
	b.wrote(created)
}

// While nothing tells how far the cache has come, it counts as behind the controller's own write, for a minute.
func TestShards_ACacheThatListsIsBehindTheOwnWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.serviceIs()
		b.expect(created)
		listing := scope{showsUpTo: func(context.Context) string { return "" }}
		result, err := b.r.reconcileIn(t.Context(), listing, webKey)
		require.NoError(t, err)
		require.Equal(t, lookAgainDelay, result.RequeueAfter)
		b.wrote()
		<-time.After(staleCacheLimit)
		_, err = b.r.reconcileIn(t.Context(), listing, webKey)
		require.NoError(t, err)
		b.wrote(created)
	})
}
