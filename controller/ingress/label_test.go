package ingress

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch/shard"
)

const labelOfShard = "ingress/shard"

func (tr *troupe) ingress(name string) *networkingv1.Ingress {
	tr.t.Helper()
	ing, err := tr.client.NetworkingV1().Ingresses("a-shop").Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(tr.t, err)
	return ing
}

// expectLabels wants each Ingress to have the label of its Service's shard.
func (tr *troupe) expectLabels() {
	tr.t.Helper()
	list, err := tr.client.NetworkingV1().Ingresses("a-shop").List(context.Background(), metav1.ListOptions{})
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
			held += r.ingresses.Store().Len()
			for _, request := range r.requests() {
				isWatch := strings.Contains(request, "/ingresses?") && strings.Contains(request, "watch=true")
				require.True(t, !isWatch || strings.Contains(request, "labelSelector=ingress%2Fshard+in+%2816-"), request)
			}
		}
		require.Equal(t, 8, held)

		bare := tr.ingress("s3")
		bare.Labels = nil
		_, err := tr.client.NetworkingV1().Ingresses("a-shop").Update(context.Background(), bare, metav1.UpdateOptions{})
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
		ingresses := tr.client.NetworkingV1().Ingresses("a-shop")
		for name, owners := range map[string][]metav1.OwnerReference{
			"s1": nil,
			"s2": {desired{owner: owner{name: "s2", uid: "of an earlier Service"}}.ownerReference()},
		} {
			_, err := ingresses.Create(ctx, &networkingv1.Ingress{
				ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners, Finalizers: []string{"example.com/held"}},
				Spec:       networkingv1.IngressSpec{Rules: desired{host: "theirs", owner: owner{name: "theirs"}, port: 1}.rules()},
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
