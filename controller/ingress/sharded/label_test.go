package sharded

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/controller/ingress"
	"glasswatch/controller/ingress/ingresstest"
	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
)

const labelOfShard = "ingress/shard"

func (tr *troupe) ingress(name string) *networkingv1.Ingress {
	tr.t.Helper()
	ing, err := tr.Client.NetworkingV1().Ingresses("a-shop").Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(tr.t, err)
	return ing
}

// expectLabels wants each Ingress to have the label of its Service's shard.
func (tr *troupe) expectLabels() {
	tr.t.Helper()
	list, err := tr.Client.NetworkingV1().Ingresses("a-shop").List(context.Background(), metav1.ListOptions{})
	require.NoError(tr.t, err)
	require.Len(tr.t, list.Items, 8)
	for _, ing := range list.Items {
		hash := shard.Hash(string(metav1.GetControllerOf(&ing).UID))
		for _, r := range tr.replicas {
			require.Equal(tr.t, r.group.Label(shard.Index(hash, 16)), ing.Labels[labelOfShard], ing.Name)
		}
	}
}

// Each replica has the Ingresses of its shards only. One that somebody took the label off gets it back, and so does one
// that was made without labels.
func TestShards_ByLabelEachReplicaHasItsShare(t *testing.T) {
	inTroupe(t, shard.UID, func(tr *troupe) {
		tr.join("r0")
		<-time.After(time.Minute)
		tr.createServices(1, 8)
		<-time.After(time.Minute)
		tr.leave("r0") // which knows no labels
		require.Empty(t, tr.ingress("s0").Labels)

		tr.byLabel = true
		tr.join("r0")
		tr.join("r1")
		<-time.After(3 * time.Minute)
		tr.expectLabels()
		held := 0
		for _, r := range tr.replicas {
			held += r.Ingresses().Store().Len()
			for _, request := range r.requests() {
				isWatch := strings.Contains(request, "/ingresses?") && strings.Contains(request, "watch=true")
				require.True(t, !isWatch || strings.Contains(request, "labelSelector=ingress%2Fshard+in+%2816-"), request)
			}
		}
		require.Equal(t, 8, held)

		bare := tr.ingress("s3")
		bare.Labels = nil
		_, err := tr.Client.NetworkingV1().Ingresses("a-shop").Update(context.Background(), bare, metav1.UpdateOptions{})
		require.NoError(t, err)
		<-time.After(time.Minute)
		tr.expectLabels()
	})
}

// What is in the way without the label is left alone, as rules 4 and 5 ask, and looked at until it is gone.
func TestShards_ByLabelWhatIsUnseenIsLeftAloneUntilItHasGone(t *testing.T) {
	inTroupe(t, byLabel, func(tr *troupe) {
		ctx := context.Background()
		tr.createServices(1, 8)
		ingresses := tr.Client.NetworkingV1().Ingresses("a-shop")
		for name, owners := range map[string][]metav1.OwnerReference{
			"s1": nil,
			"s2": ingresstest.OwnedBy("s2", "of an earlier Service"),
		} {
			_, err := ingresses.Create(ctx, &networkingv1.Ingress{
				ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners, Finalizers: []string{"example.com/held"}},
				Spec:       networkingv1.IngressSpec{Rules: ingresstest.Rules("theirs", "theirs", 1)},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		r := tr.join("r0")
		<-time.After(10 * time.Minute)
		require.Equal(t, "theirs", tr.ingress("s1").Spec.Rules[0].Host)
		require.Equal(t, "theirs", tr.ingress("s2").Spec.Rules[0].Host)
		r.mu.Lock()
		require.LessOrEqual(t, r.answers["POST 409"], 2*(10*60/30+1), "two requests each unseenDelay")
		r.mu.Unlock()
		for _, name := range []string{"s1", "s2"} {
			require.NoError(t, ingresses.Delete(ctx, name, metav1.DeleteOptions{}))
			free := tr.ingress(name)
			free.Finalizers = nil
			_, err := ingresses.Update(ctx, free, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		<-time.After(unseenDelay + 5*time.Second)
		tr.expectLabels()
	})
}

// stopAsking sets the annotation of a Service to false.
func (tr *troupe) stopAsking(name string) {
	tr.t.Helper()
	services := tr.Client.CoreV1().Services("a-shop")
	svc, err := services.Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(tr.t, err)
	svc.Annotations["ingress/http"] = "false"
	_, err = services.Update(context.Background(), svc, metav1.UpdateOptions{})
	require.NoError(tr.t, err)
}

// seedStrangers makes Ingresses of nobody, which a list shows before those of other namespaces.
func (tr *troupe) seedStrangers(n int) {
	tr.t.Helper()
	require.NoError(tr.t, tr.Server.SeedNamespaces("0-strangers"))
	for i := range n {
		_, err := tr.Client.NetworkingV1().Ingresses("0-strangers").Create(context.Background(), &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("stranger-", i)},
			Spec:       networkingv1.IngressSpec{Rules: ingresstest.Rules("theirs", "theirs", 1)},
		}, metav1.CreateOptions{})
		require.NoError(tr.t, err)
	}
}

// expectNames wants Ingresses of these names, and no others.
func (tr *troupe) expectNames(names ...string) {
	tr.t.Helper()
	list, err := tr.Client.NetworkingV1().Ingresses("a-shop").List(context.Background(), metav1.ListOptions{})
	require.NoError(tr.t, err)
	var got []string
	for _, ing := range list.Items {
		got = append(got, ing.Name)
	}
	require.ElementsMatch(tr.t, names, got)
}

// A Service stops asking while nobody works. Its Ingress has the label of another number of shards, or none yet. It
// goes all the same, also if the list that shows it fails at first and has a second page.
func TestShards_ByLabelAnIngressWithTheLabelOfBeforeGoesWithItsWish(t *testing.T) {
	for _, before := range []shard.Field{byLabel, shard.UID} {
		t.Run(string(before), func(t *testing.T) {
			inTroupe(t, before, func(tr *troupe) {
				tr.join("r0")
				<-time.After(time.Minute)
				tr.createServices(1, 3)
				<-time.After(time.Minute)
				require.Equal(t, tr.byLabel, len(tr.ingress("s0").Labels) > 0)
				tr.leave("r0")
				tr.stopAsking("s0")
				tr.byLabel, tr.shards = true, 32
				tr.seedStrangers(unseenPage)
				tr.Server.Faults().FailNext(-1, apiserver.Failure{
					Verb: "list", Resource: "ingresses", Code: http.StatusInternalServerError})
				r := tr.join("r1")
				<-time.After(time.Minute)
				require.ErrorContains(t, r.Ready(), "without a label of this division cannot be listed")
				tr.Server.Faults().Reset()
				<-time.After(2 * listAgainDelay)
				require.NoError(t, r.Ready())
				tr.expectNames("s1", "s2")
			})
		})
	}
}

// From 16 shards to 32 in a rolling update: Services stop asking while the replica of 32 labels one Ingress at a time.
func TestShards_ByLabelServicesThatStopAskingBeforeTheirIngressIsLabelled(t *testing.T) {
	inTroupe(t, byLabel, func(tr *troupe) {
		tr.join("r0")
		<-time.After(time.Minute)
		tr.createServices(1, 40)
		<-time.After(time.Minute)
		tr.workers, tr.shards = 1, 32
		tr.join("r1")
		<-time.After(5 * time.Second)
		var stay []string
		for n := range 40 {
			if name := fmt.Sprintf("s%d", n); n%2 == 0 {
				tr.stopAsking(name)
			} else {
				stay = append(stay, name)
			}
		}
		<-time.After(10 * time.Minute)
		tr.expectNames(stay...)
	})
}

// A key that was noted by a list, and whose shard was lost before its reconcile, is forgotten by the next list.
func TestShards_ByLabelAListForgetsWhatTheOneBeforeNoted(t *testing.T) {
	inTroupe(t, byLabel, func(tr *troupe) {
		r := tr.join("r0")
		<-time.After(time.Minute)
		key := listwatch.Key{Namespace: "a-shop", Name: "s0"}
		r.listed.Store(key, nil)
		require.NoError(t, r.listUnseen(context.Background()))
		require.False(t, r.hadUnseen(key))
	})
}

// Whether a Service that asks for nothing has an unseen Ingress is asked once for all, and not of each Service.
func TestShards_ByLabelServicesThatNeverAskedCostNoRequests(t *testing.T) {
	inTroupe(t, byLabel, func(tr *troupe) {
		tr.createServices(2, 100)
		for n := range 100 {
			tr.stopAsking(fmt.Sprintf("s%d", n))
		}
		r := tr.join("r0")
		<-time.After(5 * time.Minute)
		tr.join("r1")
		<-time.After(5 * time.Minute)
		tr.leave("r1")
		<-time.After(5 * time.Minute)
		lists := 0
		for _, request := range r.requests() {
			require.NotContains(t, request, "fieldSelector")
			if strings.Contains(request, "/ingresses?") && strings.Contains(request, "notin") {
				lists++
			}
		}
		require.Positive(t, lists)
		require.LessOrEqual(t, lists, 4, "one for each time that shards came")
	})
}

// The label is taken off and the wish withdrawn before the reconciler looks. The cache does not show the Ingress.
func TestShards_ByLabelALabelThatIsTakenOffKeepsNothing(t *testing.T) {
	for _, asked := range []bool{true, false} { // else the Ingress was seen
		inTroupe(t, byLabel, func(tr *troupe) {
			ctx, key := context.Background(), listwatch.Key{Namespace: "a-shop", Name: "s0"}
			tr.createServices(1, 1)
			r := tr.make("r0", "")
			svc, err := tr.Client.CoreV1().Services("a-shop").Get(ctx, "s0", metav1.GetOptions{})
			require.NoError(t, err)
			services := &ingresstest.Cache[*corev1.Service]{Objects: map[listwatch.Key]*corev1.Service{key: svc}, Version: 1}
			ingresses := &ingresstest.Cache[*networkingv1.Ingress]{Objects: map[listwatch.Key]*networkingv1.Ingress{}}
			view := ingress.View{Services: services, Ingresses: ingresses, Label: ingress.Label{Key: labelOfShard, Value: "16-1"}}
			reconcile := func() error {
				_, err := r.unseen.reconcile(ctx, r.config, r.Reconciler(), view, key)
				return err
			}
			fails := func(verb string, code int) {
				tr.Server.Faults().FailNext(1, apiserver.Failure{Verb: verb, Resource: "ingresses", Code: code})
				require.Error(t, reconcile())
			}
			sent := func(methods ...string) {
				t.Helper()
				var got []string
				for _, request := range r.requests() {
					if method, url, _ := strings.Cut(request, " "); strings.Contains(url, "/ingresses") {
						got = append(got, method)
					}
				}
				r.mu.Lock()
				r.heard = nil
				r.mu.Unlock()
				require.Equal(t, methods, got)
			}
			require.NoError(t, reconcile())
			sent(http.MethodPost)
			made := tr.ingress("s0")
			require.Equal(t, "16-1", made.Labels[labelOfShard])
			ingresses.Version = 1_000_000 // it has caught up
			withdrawn := svc.DeepCopy()
			withdrawn.Annotations["ingress/http"] = "false"
			if !asked {
				r.Reconciler().Forget(key)
				r.mayHave.Delete(key)
				services.Objects[key], ingresses.Objects[key] = withdrawn, made
				fails("delete", http.StatusConflict) // the label has just gone
				sent(http.MethodDelete)
			}
			delete(ingresses.Objects, key)
			services.Objects[key] = withdrawn
			fails("list", http.StatusForbidden)
			sent(http.MethodGet)
			require.NoError(t, reconcile())
			sent(http.MethodGet, http.MethodDelete)
			tr.expectNames()
			require.NoError(t, reconcile())
			sent()
			tr.run("r0", r) // which ends what it has
		})
	}
}
