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

// A moment that comes late is waited for as long as something is observed, and then for ten seconds.
func TestWorld_AMomentIsWaitedForWhileSomethingIsObserved(t *testing.T) {
	for _, c := range []struct {
		name     string
		stored   uint64 // what the second action waits for, of the 101 that there will be
		from, to int    // the seconds between which it is done
	}{
		{"it comes", 101, 19, 21},
		{"it never comes", 1000, 29, 31},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, err := NewWorld(look.NewHub(), Options{}, true)
			require.NoError(t, err)
			w.Start(Session{Actions: []Action{
				{Act: "storm", Body: []byte(`{"objects": 1, "changes": 99, "per_second": 5}`)},
				{look.Moment{Micros: 1_000_000, After: map[look.Boundary]uint64{look.Stored: c.stored}}, "storm", []byte(`{}`)},
			}})
			defer w.Close()
			began := time.Now()
			w.playing.Wait()
			took := time.Since(began)
			assert.GreaterOrEqual(t, took, time.Duration(c.from)*time.Second, c.name)
			assert.LessOrEqual(t, took, time.Duration(c.to)*time.Second, c.name)
		})
	}
}
