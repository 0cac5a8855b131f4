package lens

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"glasswatch/internal/lens/look"
)

var faultCases = map[string]struct {
	body string
	// seen provokes and waits for what the fault does.
	seen func(v *visitor, f *follower)
}{
	"cut": {`"name": "cut"`, func(v *visitor, f *follower) {
		v.apply("meanwhile", 80)
		f.until(func() bool { return f.now.State.Informers["services"].Error != "" })
		assert.Equal(v.t, 1, f.now.State.Informers["services"].Objects)
	}},
	"compact": {`"name": "compact"`, func(v *visitor, f *follower) {
		v.act("fault", `{"name": "cut", "on": true}`)
		v.apply("meanwhile", 80)
		v.act("fault", `{"name": "compact", "on": true}`)
		v.act("fault", `{"name": "cut"}`)
		f.until(func() bool {
			r := f.now.State.Informers["services"].Reflector
			return r.StreamingLists+r.PagedLists > 1
		})
	}},
	"delay": {`"name": "delay", "ms": 60000`, func(v *visitor, f *follower) {
		v.apply("meanwhile", 80)
		f.until(func() bool { return f.now.State.Server.Revision >= 7 })
		assert.Equal(v.t, 1, f.now.State.Informers["services"].Objects)
	}},
	"drop": {`"name": "drop"`, func(v *visitor, f *follower) {
		v.apply("meanwhile", 80)
		assert.NotEmpty(v.t, f.sees(look.Sent, "ADDED", "default/meanwhile").Error)
		v.act("fault", `{"name": "drop"}`)
		v.apply("after", 80)
		f.sees(look.Stored, "stored", "default/after")
		assert.Equal(v.t, 2, f.now.State.Informers["services"].Objects, "one was lost")
		v.act("fault", `{"name": "expire", "on": true}`)
		f.sees(look.Stored, "stored", "default/meanwhile")
	}},
	"expire": {`"name": "expire"`, func(v *visitor, f *follower) { f.sees(look.Sent, "ERROR", "") }},
	"stop": {`"name": "stop"`, func(v *visitor, f *follower) {
		f.until(func() bool { return !f.now.State.Server.Up && f.now.State.Informers["services"].Error != "" })
	}},
	"token": {`"name": "token"`, func(v *visitor, f *follower) {
		f.until(func() bool {
			for _, e := range f.seen {
				if e.At == look.Request && e.Code == 401 {
					return true
				}
			}
			return false
		})
	}},
	"fail": {`"name": "fail"`, func(v *visitor, f *follower) {
		v.apply("meanwhile", 80)
		f.sees(look.PutOff, "AddAfter", "default/meanwhile")
		f.until(func() bool { return f.now.State.Workqueue.Retries["default/meanwhile"] > 0 })
	}},
	"slow": {`"name": "slow", "ms": 60000, "handler": "audit"`, func(v *visitor, f *follower) {
		v.apply("meanwhile", 80)
		v.apply("and-another", 80)
		f.until(func() bool {
			h := f.now.State.Informers["services"].Handlers
			return h[0].Depth == 0 && h[0].Delivered == 3 && h[1].Depth == 2
		})
	}},
	"panic": {`"name": "panic", "handler": "audit"`, func(v *visitor, f *follower) {
		v.apply("meanwhile", 80)
		f.sees(look.Called, "OnAdd", "default/meanwhile")
		f.sees(look.Returned, "panic", "default/meanwhile")
		f.sees(look.Reconciled, "ok", "default/meanwhile")
	}},
}

// The page compares them with the store's.
func TestVersions_AreTheServersOwn(t *testing.T) {
	t.Parallel()
	v := visit(t, Options{})
	v.follow("").synced()
	v.act("fault", `{"name": "cut", "on": true}`)
	rv := v.apply("web", 80)
	var got struct {
		Seq      uint64
		Versions map[string]string
	}
	v.ask("GET", "/api/versions?key=default/web", "", &got)
	assert.Equal(t, rv, got.Versions["Service"], "nobody else knows of it")
	assert.NotContains(t, got.Versions, "Ingress")
	assert.NotZero(t, got.Seq)
	v.act("fault", `{"name": "stop", "on": true}`)
	v.ask("GET", "/api/versions?key=default/web", "", &got)
	assert.Equal(t, rv, got.Versions["Service"], "its data stay")
}

// Each fault is seen, and after it is undone a change still arrives.
func TestFaults_AreSeenAndUndone(t *testing.T) {
	for name, c := range faultCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := visit(t, Options{})
			f := v.follow("?follow=default/web")
			f.synced()
			v.act("fault", "{"+c.body+`, "on": true}`)
			f.until(func() bool { return f.now.Faults[name].On || name == "compact" || name == "expire" })
			c.seen(v, f)
			v.act("fault", "{"+c.body+"}")
			f.until(func() bool { return len(f.now.Faults) == 0 || name == "drop" && len(f.now.Faults) == 1 })
			v.apply("web", 80)
			f.sees(look.Stored, "stored", "default/web")
			f.sees(look.Returned, "OnAdd", "default/web")
			f.until(func() bool { return f.now.State.Informers["ingresses"].Objects > 0 })
		})
	}
}

// One frame after the other is late, not all of them together at the end.
func TestFaults_ADelayedFrameDoesNotWaitForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := look.NewHub()
		w, err := NewWorld(hub, Options{}, false)
		require.NoError(t, err)
		w.Start(Session{})
		defer w.Close()
		synctest.Wait()
		before := hub.Snapshot().State.Informers["services"].Objects
		_, err = w.setFault(t.Context(), look.Fault{Name: "delay", On: true, Millis: 1000})
		require.NoError(t, err)
		for _, name := range []string{"a", "b", "c"} {
			_, err = w.acts.apply(t.Context(), documents{strings.Replace(webService, "name: web", "name: "+name, 1)})
			require.NoError(t, err)
		}
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, before+2, hub.Snapshot().State.Informers["services"].Objects)
	})
}

// A session could not be played again if it were chance.
func TestFaults_OfTwoThatRefuseARequestTheFirstThatItMeetsDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := NewWorld(look.NewHub(), Options{}, true)
		require.NoError(t, err)
		w.Start(Session{})
		defer w.Close()
		for range 20 {
			for _, name := range []string{"fail", "token"} {
				_, err := w.setFault(t.Context(), look.Fault{Name: name, On: true})
				require.NoError(t, err)
			}
			const body = "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}}"
			_, err := w.acts.apply(t.Context(), documents{body})
			assert.True(t, apierrors.IsUnauthorized(err), "%v", err)
		}
	})
}

func TestActs_SayThatTheServerCannotBeReached(t *testing.T) {
	v := visit(t, Options{})
	body, err := json.Marshal(map[string]string{"yaml": webService})
	require.NoError(t, err)
	for range 2 { // the second time the actor knows the server's kinds
		v.act("fault", `{"name": "stop", "on": true}`)
		for act, body := range map[string]string{
			"apply": string(body), "delete": `{"kind": "Service", "key": "default/web"}`,
		} {
			answer := map[string]string{}
			assert.Equal(t, 503, v.ask("POST", "/act/"+act, body, &answer), "%s: %v", act, answer)
			assert.Equal(t, "ServiceUnavailable", answer["reason"])
			assert.NotContains(t, answer["error"], "bad request")
		}
		v.act("fault", `{"name": "stop"}`)
		v.act("apply", string(body))
	}
}
