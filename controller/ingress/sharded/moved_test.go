package sharded

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"glasswatch/controller/ingress"
	"glasswatch/controller/ingress/ingresstest"
	"glasswatch/controller/shards"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/extent"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
)

// A shard is lost while its keys wait in the queue, most of them for a retry. Each is dropped when it is its turn: with
// no request, and with what the rate limiter and the reconciler knew of it.
func TestShards_KeysOfALostShardAreDroppedAndForgotten(t *testing.T) {
	each := extent.Of(2, 4)
	for _, by := range divisions {
		t.Run(string(by), func(t *testing.T) {
			inTroupe(t, by, func(tr *troupe) {
				r := tr.join("r0")
				<-time.After(time.Minute)
				tr.Server.Faults().FailNext(-1, apiserver.Failure{
					Verb: "create", Resource: "ingresses", Code: http.StatusInternalServerError})
				tr.createServices(12, each)
				<-time.After(time.Minute)
				require.Equal(t, float64(12*each), r.gauge(t, "workqueue_tracked_retries"))
				other := tr.join("r1")
				<-time.After(10 * time.Second)
				r.mu.Lock()
				r.heard = nil
				r.mu.Unlock()
				<-time.After(20 * time.Minute) // longer than every backoff
				kept, lost := tr.servicesOf(r), tr.servicesOf(other)
				require.NotEmpty(t, kept)
				require.NotEmpty(t, lost)
				require.Equal(t, 12*each, len(kept)+len(lost))
				require.EqualValues(t, len(kept), r.gauge(t, "workqueue_tracked_retries"))
				require.Zero(t, r.Loop().Len())
				for _, key := range lost {
					require.False(t, r.Reconciler().Remembers(key), key)
				}
				if by != shard.Namespace {
					return // a request to create does not tell the Service
				}
				posts := 0
				for _, request := range r.requests() {
					if strings.HasPrefix(request, "POST") && strings.Contains(request, "/ingresses") {
						posts++
						require.False(t, slices.ContainsFunc(lost, func(key listwatch.Key) bool {
							return strings.Contains(request, "/"+key.Namespace+"/")
						}), request)
					}
				}
				require.NotZero(t, posts)
			})
		})
	}
}

// With UID a new owner's Ingresses come by a watch that may be behind what the former owner wrote. Then each of its
// writes is refused by what it is based on, and it tries again until it has seen that.
func TestShards_ANewOwnerWhoseIngressesAreOldIsRefusedAndTriesAgain(t *testing.T) {
	inTroupe(t, shard.UID, func(tr *troupe) {
		play := func(moves ...ingresstest.Move) {
			for _, m := range moves {
				require.NoError(t, tr.Play(context.Background(), m))
			}
			<-time.After(30 * time.Second)
		}
		tr.join("r0")
		r := tr.joinDeaf("r1", "/leases") // it watches the Ingresses, and does not join yet
		play(ingresstest.Move{Kind: "create", Name: "b"}, ingresstest.Move{Kind: "create", Name: "c"})
		require.Equal(t, 2, r.Ingresses().Store().Len())
		thaw := make(chan struct{})
		r.mu.Lock()
		r.frozen = thaw
		r.mu.Unlock()
		play(ingresstest.Move{Kind: "create", Name: "a"}, ingresstest.Move{Kind: "port", Name: "b"}, ingresstest.Move{Kind: "port", Name: "c"})
		tr.leave("r0")
		play(ingresstest.Move{Kind: "annotate", Name: "c", Value: 1}) // "false"
		r.mu.Lock()
		r.deaf = ""
		r.mu.Unlock()
		<-time.After(time.Minute)
		require.Equal(t, 2, r.Ingresses().Store().Len(), "it is still behind")
		refused := r.answersSoFar()
		for _, method := range []string{http.MethodPost, http.MethodPatch, http.MethodDelete} {
			require.Greater(t, refused[method+" 409"], 1, method)
		}
		require.Len(t, refused, 3, "nothing else was answered")
		close(thaw)
		r.mu.Lock()
		r.frozen = nil
		r.mu.Unlock()
		<-time.After(10 * time.Minute)
		require.NoError(t, tr.Check(context.Background()))
		require.NoError(t, r.Ready())
		require.Equal(t, 1, r.answersSoFar()["DELETE 200"], "the rest the former owner had done")
		require.Zero(t, r.answersSoFar()["POST 201"]+r.answersSoFar()["PATCH 200"])
	})
}

func (r *sharded) answersSoFar() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.answers)
}

func (tr *troupe) servicesOf(r *sharded) (keys []listwatch.Key) {
	all, err := tr.Client.CoreV1().Services("").List(context.Background(), metav1.ListOptions{})
	require.NoError(tr.t, err)
	for i := range all.Items {
		svc := &all.Items[i]
		if svc.Annotations["ingress/http"] == "true" && slices.Contains(r.group.Held(), r.group.Of(svc)) {
			keys = append(keys, listwatch.Key{Namespace: svc.Namespace, Name: svc.Name})
		}
	}
	return keys
}

// gauge returns the value of a gauge without labels, or with one set of them.
func (r *sharded) gauge(t *testing.T, name string) float64 {
	families, err := r.reg.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	require.Fail(t, "no metric "+name)
	return 0
}

// A replica has lost all of its shards, and 100,000 keys are due.
func BenchmarkShards_KeysOfLostShards(b *testing.B) {
	const keys = 100_000
	cfg := &rest.Config{Host: "http://127.0.0.1:1"}
	leases, err := coordinationv1client.NewForConfig(cfg)
	require.NoError(b, err)
	for _, by := range divisions {
		b.Run(string(by), func(b *testing.B) {
			for b.Loop() {
				c, err := New(cfg, ingress.Options{Config: testConfig, Workers: 2}, Sharding{
					Leases: leases, By: by, Member: shards.Options{Namespace: "default", Name: "web", Identity: "a"}})
				require.NoError(b, err)
				for n := range keys {
					c.Loop().Enqueue(listwatch.Key{Namespace: fmt.Sprintf("ns-%d", n%200), Name: fmt.Sprintf("s%d", n)})
				}
				ctx, cancel := context.WithCancel(b.Context())
				cancel()
				require.NoError(b, c.Run(ctx)) // it works on all that is due, and ends
				require.Zero(b, c.Loop().Len())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/key")
		})
	}
}

// Between the pin of a shard and the look at the cache a Service may have been made again, as one of another shard.
func TestShards_AServiceThatIsMadeAgainIsNotWrittenUnderTheFormersPin(t *testing.T) {
	inTroupe(t, shard.UID, func(tr *troupe) {
		tr.createServices(1, 1)
		key := listwatch.Key{Namespace: "a-shop", Name: "s0"}
		svc, err := tr.Client.CoreV1().Services("a-shop").Get(context.Background(), "s0", metav1.GetOptions{})
		require.NoError(t, err)
		r := tr.make("r0", "")
		again := svc.DeepCopy()
		for n := 0; r.group.Of(again) == r.group.Of(svc); n++ {
			again.UID = types.UID(fmt.Sprint("again ", n))
		}
		seen := &oneService{svc: again}
		r.services = seen
		tr.run("r0", r)
		<-time.After(time.Minute)
		_, found := r.Services().Store().GetByKey(key)
		require.True(t, found, "by which the shard is pinned")
		require.Empty(t, writes(r.requests()))
		seen.set(svc)
		r.Loop().Enqueue(key)
		<-time.After(time.Minute)
		require.Len(t, writes(r.requests()), 1)
	})
}

// oneService is a cache with one Service.
type oneService struct {
	mu  sync.Mutex
	svc *corev1.Service // guarded by mu
}

func (o *oneService) set(svc *corev1.Service) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.svc = svc
}

func (o *oneService) GetByKey(key listwatch.Key) (*corev1.Service, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.svc, key == listwatch.KeyOf(o.svc)
}

func (o *oneService) ResourceVersion() string { return "" }

func writes(requests []string) []string {
	return slices.DeleteFunc(requests, func(request string) bool {
		return strings.HasPrefix(request, "GET") || !strings.Contains(request, "/ingresses")
	})
}

// A rolling update ends the old replicas when the new ones are ready. So one that waits is not ready if it could not join.
func TestShards_AReplicaThatWaitsIsNotReadyWithoutItsRights(t *testing.T) {
	inTroupe(t, shard.UID, func(tr *troupe) {
		tr.Server.Faults().FailNext(-1, apiserver.Failure{
			Resource: "leases", Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		})
		r := tr.join("r0")
		r.waits = func() bool { return true }
		<-time.After(time.Minute)
		require.ErrorContains(t, r.Ready(), "grant get, list, watch")
		tr.Server.Faults().Reset()
		<-time.After(time.Minute)
		require.NoError(t, r.Ready())
	})
}
