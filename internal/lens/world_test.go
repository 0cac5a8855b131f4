package lens

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const webService = `{apiVersion: v1, kind: Service, metadata: {name: web, annotations: {ingress/http: "true"}},
 spec: {ports: [{port: 80}]}}`

func TestWorld_RunsInVirtualTimeAndIsSteppedFromOutside(t *testing.T) {
	hub := NewHub()
	hub.Restart()
	_, err := hub.do("breakpoint", []byte(`{"at": "stored", "kind": "Ingress", "key": "default/web"}`))
	require.NoError(t, err)
	stepped := make(chan time.Time)
	go func() { // outside the bubble
		for changes := hub.changes(); hub.since(0, nil).Gate.Hit == nil; changes = hub.changes() {
			<-changes
		}
		_, _ = hub.do("run", nil)
		stepped <- time.Now()
	}()
	synctest.Test(t, func(t *testing.T) {
		w, err := NewWorld(hub, Session{})
		require.NoError(t, err)
		defer w.Close()
		synctest.Wait()
		require.NoError(t, w.setFault(Fault{Name: "fail", On: true}))
		_, err = w.acts.apply(context.Background(), webService)
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Greater(t, w.State().Workqueue.Retries["default/web"], 5)
		began := time.Now()
		require.NoError(t, w.setFault(Fault{Name: "fail"}))
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, time.Second, time.Since(began), "time stood still while the world was parked")
		assert.Equal(t, 1, w.State().Informers["ingresses"].Objects)
		assert.Empty(t, w.State().Workqueue.Retries)
	})
	assert.WithinDuration(t, time.Now(), <-stepped, patience)
}

func TestWorld_ClosesWhileTheGateIsShut(t *testing.T) {
	for _, queue := range []string{"inorder", "perkey"} {
		hub := NewHub()
		hub.Restart()
		synctest.Test(t, func(t *testing.T) {
			w, err := NewWorld(hub, Session{Options: Options{Queue: queue}})
			require.NoError(t, err)
			require.NoError(t, w.acts.storm(Storm{Objects: 10, Changes: 100, PerSecond: 100}))
			require.NoError(t, w.setFault(Fault{Name: "slow", On: true, Millis: maxMillis}))
			time.Sleep(200 * time.Millisecond)
			_, err = hub.do("pause", nil)
			require.NoError(t, err)
			w.Close()
		})
	}
}
