package sharded

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/internal/apiserver"
)

// A Service stops asking, and an admission webhook refuses the deletion. Then somebody takes the label off the Ingress,
// so that no cache has it any more. Once the webhook lets it pass, the Ingress goes when its Service is changed.
func TestShards_ByLabelAnIngressWhoseDeletionWasRefusedGoesAlsoWithoutItsLabel(t *testing.T) {
	for _, code := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity} {
		for _, looks := range []int{0, 1, 2} { // while the label is there, and without it
			t.Run(fmt.Sprint(code, " with looks: ", looks), func(t *testing.T) {
				inTroupe(t, byLabel, func(tr *troupe) { tr.refusedThenBare(code, looks) })
			})
		}
	}
}

func (tr *troupe) refusedThenBare(code, looks int) {
	tr.createServices(1, 2)
	r := tr.join("r0")
	<-time.After(time.Minute)
	tr.Server.Faults().FailNext(-1, apiserver.Failure{Verb: "delete", Resource: "ingresses", Code: code})
	tr.stopAsking("s0")
	lookAgain := func() {
		for range looks {
			<-time.After(time.Minute)
			for key := range r.Services().Store().All() {
				r.Loop().Enqueue(key)
			}
		}
		<-time.After(time.Minute)
	}
	lookAgain()
	require.Equal(tr.t, 1, tr.deletions(r), "the same request would be refused again")
	bare := tr.ingress("s0")
	bare.Labels = nil
	_, err := tr.Client.NetworkingV1().Ingresses("a-shop").Update(context.Background(), bare, metav1.UpdateOptions{})
	require.NoError(tr.t, err)
	lookAgain()
	require.Equal(tr.t, 2, tr.deletions(r), "the Ingress has changed")
	require.Equal(tr.t, 1, r.Ingresses().Store().Len())

	tr.Server.Faults().Reset()
	_, err = tr.Client.CoreV1().Services("a-shop").Patch(context.Background(), "s0", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"touched":"yes"}}}`), metav1.PatchOptions{})
	require.NoError(tr.t, err)
	<-time.After(time.Minute)
	tr.expectNames("s1")
	sent := len(r.requests())
	lookAgain()
	for _, request := range r.requests()[sent:] {
		require.NotContains(tr.t, request, "fieldSelector", "nothing is left to look for")
	}
}

// deletions returns how many deletions of Ingresses the replica has sent.
func (tr *troupe) deletions(r *sharded) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for answer, times := range r.answers {
		if len(answer) > 6 && answer[:6] == http.MethodDelete {
			n += times
		}
	}
	return n
}
