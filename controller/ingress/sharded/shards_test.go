package sharded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"pgregory.net/rapid"

	"glasswatch/controller/ingress/ingresstest"
	"glasswatch/internal/extent"
	"glasswatch/listwatch/shard"
)

// Whatever happens to the cluster and to the replicas: once all is quiet, each of the rules holds.
func TestShards_NothingIsLostWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		by := rapid.SampledFrom(divisions).Draw(rt, "by")
		moves := ingresstest.DrawMoves(rt)
		at := rapid.SliceOfN(rapid.IntRange(0, 8), len(moves), len(moves)).Draw(rt, "replicas")
		var err error
		inTroupe(t, by, func(tr *troupe) { err = tr.playAll(moves, at) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// playAll plays the moves, and beside each a change of the replicas: one joins, leaves, is cut off or back again.
func (tr *troupe) playAll(moves []ingresstest.Move, at []int) error {
	ctx := context.Background()
	for _, name := range []string{"r0", "r1", "r2"} {
		tr.join(name)
	}
	for i, m := range moves {
		if err := tr.Play(ctx, m); err != nil {
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
	tr.Server.Faults().Reset()
	for _, r := range tr.replicas {
		r.setCut(false)
	}
	<-time.After(10 * time.Minute) // longer than every backoff and every contest
	synctest.Wait()
	err := tr.Check(ctx)
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
		require.NoError(tr.t, tr.Server.SeedNamespaces(ns))
		for s := range each {
			svc := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("s%d", s), Annotations: map[string]string{"ingress/http": "true"},
				},
				Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{ingresstest.TCP("http", 80)}},
			}
			_, err := tr.Client.CoreV1().Services(ns).Create(context.Background(), svc, metav1.CreateOptions{})
			require.NoError(tr.t, err)
		}
	}
}

// Shards move while writes are on their way: no other replica writes to an Ingress before those have returned.
func TestShards_AMoveWaitsForWhatIsBeingWritten(t *testing.T) {
	each := extent.Of(4, 8)
	for _, by := range divisions {
		t.Run(string(by), func(t *testing.T) {
			inTroupe(t, by, func(tr *troupe) {
				tr.workers, tr.latency = 8, 2*time.Second
				tr.join("r0")
				<-time.After(time.Minute)
				tr.createServices(12, each)
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
				all, err := tr.Client.NetworkingV1().Ingresses("").List(context.Background(), metav1.ListOptions{})
				require.NoError(t, err)
				require.Len(t, all.Items, 12*each)
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
				require.NoError(t, tr.Server.SeedNamespaces(ns))
				svc := &corev1.Service{
					ObjectMeta: metav1.ObjectMeta{Name: "s"},
					Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{ingresstest.TCP("http", 80)}},
				}
				_, err := tr.Client.CoreV1().Services(ns).Create(tr.t.Context(), svc, metav1.CreateOptions{})
				require.NoError(t, err)
			}
			tr.join("r0")
			tr.join("r1")
			<-time.After(time.Minute)
			held, dropped := 0, 0.0
			for _, r := range tr.replicas {
				held += r.Services().Store().Len()
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
		require.NoError(t, tr.Play(context.Background(), ingresstest.Move{Kind: "create", Name: "a"}))
		require.NoError(t, tr.Play(context.Background(), ingresstest.Move{Kind: "create", Name: "b"}))
		require.NoError(t, tr.Play(context.Background(), ingresstest.Move{Kind: "create stranger", Name: "a"}))
		r := tr.joinDeaf("r", "/ingresses")
		<-time.After(5 * time.Minute)
		require.Positive(t, r.Services().Store().Len())
		require.Error(t, r.Ready())
		for _, request := range r.requests() {
			require.NotContains(t, request, "POST http://apiserver.pipe/apis/networking.k8s.io")
		}
		r.mu.Lock()
		r.deaf = ""
		r.mu.Unlock()
		<-time.After(5 * time.Minute)
		require.NoError(t, r.Ready())
		require.NoError(t, tr.Check(context.Background()))
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

// While nothing tells how far the cache has come, it is older than each write.
func TestShards_ACacheThatListsIsOlderThanEachWrite(t *testing.T) {
	version := ""
	ingresses := upTo{&ingresstest.Cache[*networkingv1.Ingress]{Version: 7}, func() string { return version }}
	order, err := resourceversion.CompareResourceVersion(ingresses.ResourceVersion(), "2")
	require.NoError(t, err)
	require.Negative(t, order)
	version = "12"
	require.Equal(t, "12", ingresses.ResourceVersion())
}
