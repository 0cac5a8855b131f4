package lens

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens/look"
)

const webService = `{apiVersion: v1, kind: Service, metadata: {name: web, annotations: {ingress/http: "true"}},
 spec: {ports: [{port: 80}]}}`

func TestWorld_RunsInVirtualTimeAndIsSteppedFromOutside(t *testing.T) {
	hub := look.NewHub(nil)
	_, err := hub.Do(context.Background(), "breakpoint", []byte(`{"at": "stored", "kind": "Ingress", "key": "default/web"}`))
	require.NoError(t, err)
	stepped := make(chan time.Time)
	go func() { // outside the bubble
		for isHit := false; !isHit; {
			changes := hub.Changes()
			events, _ := hub.All()
			isHit = slices.ContainsFunc(events, func(e look.Event) bool { return e.At == look.Stored && e.Kind == "Ingress" })
			if !isHit {
				<-changes
			}
		}
		_, _ = hub.Do(context.Background(), "run", nil)
		stepped <- time.Now()
	}()
	synctest.Test(t, func(t *testing.T) {
		w, err := NewWorld(hub, Session{}, true)
		require.NoError(t, err)
		defer w.Close()
		synctest.Wait()
		require.NoError(t, w.setFault(look.Fault{Name: "fail", On: true}))
		_, err = w.acts.apply(context.Background(), webService)
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Greater(t, w.view().State(w.hub).Workqueue.Retries["default/web"], 5)
		began := time.Now()
		require.NoError(t, w.setFault(look.Fault{Name: "fail"}))
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, time.Second, time.Since(began), "time stood still while the world was parked")
		assert.Equal(t, 1, w.view().State(w.hub).Informers["ingresses"].Objects)
		assert.Empty(t, w.view().State(w.hub).Workqueue.Retries)
	})
	assert.WithinDuration(t, time.Now(), <-stepped, patience)
}

func TestWorld_ClosesWhileTheGateIsShut(t *testing.T) {
	for _, queue := range []string{"inorder", "perkey"} {
		hub := look.NewHub(nil)
		synctest.Test(t, func(t *testing.T) {
			w, err := NewWorld(hub, Session{Options: Options{Queue: queue}}, false)
			require.NoError(t, err)
			require.NoError(t, w.acts.storm(Storm{Objects: 10, Changes: 100, PerSecond: 100}))
			require.NoError(t, w.setFault(look.Fault{Name: "slow", On: true, Millis: maxMillis}))
			time.Sleep(200 * time.Millisecond)
			_, err = hub.Do(context.Background(), "pause", nil)
			require.NoError(t, err)
			w.Close()
		})
	}
}
