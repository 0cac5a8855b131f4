package lens

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens/look"
)

const webService = `{apiVersion: v1, kind: Service, metadata: {name: web, annotations: {ingress/http: "true"}},
 spec: {ports: [{port: 80}]}}`

func TestWorld_RunsInVirtualTimeAndIsSteppedThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := look.NewHub()
		_, err := hub.Do("breakpoint", []byte(`{"at": "stored", "kind": "Ingress", "key": "default/web"}`))
		require.NoError(t, err)
		w, err := NewWorld(hub, Options{}, true)
		require.NoError(t, err)
		w.Start(Session{})
		defer w.Close()
		synctest.Wait()
		_, err = w.setFault(t.Context(), look.Fault{Name: "fail", On: true})
		require.NoError(t, err)
		_, err = w.acts.apply(t.Context(), documents{webService})
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Greater(t, hub.Snapshot().State.Workqueue.Retries["default/web"], 5)
		_, err = w.setFault(t.Context(), look.Fault{Name: "fail"})
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		require.NotNil(t, hub.Snapshot().Gate.Hit)
		_, err = hub.Do("run", nil)
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, 1, hub.Snapshot().State.Informers["ingresses"].Objects)
		assert.Empty(t, hub.Snapshot().State.Workqueue.Retries)
	})
}

func TestWorld_ClosesWhileTheGateIsShut(t *testing.T) {
	for _, queue := range []string{"inorder", "perkey"} {
		synctest.Test(t, func(t *testing.T) {
			hub := look.NewHub()
			w, err := NewWorld(hub, Options{Queue: queue}, false)
			require.NoError(t, err)
			w.Start(Session{})
			_, err = w.acts.storm(t.Context(), Storm{Objects: 10, Changes: 100, PerSecond: 100})
			require.NoError(t, err)
			_, err = w.setFault(t.Context(), look.Fault{Name: "slow", On: true, Millis: maxMillis})
			require.NoError(t, err)
			time.Sleep(200 * time.Millisecond)
			_, err = hub.Do("pause", nil)
			require.NoError(t, err)
			w.Close()
		})
	}
}
