package lens

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/lens/look"
)

func TestJourney_LeadsFromAnIngressBackToItsService(t *testing.T) {
	for _, queue := range []string{"inorder", "perkey"} {
		t.Run(queue, func(t *testing.T) {
			v := visit(t, Options{Queue: queue})
			f := v.follow("")
			f.synced()
			v.apply("web", 80)
			f.sees(look.Written, "POST", "default/web")
			f.sees(look.Returned, "OnAdd", "default/web")
			byAt := map[uint64]look.Event{}
			var e look.Event
			for _, j := range v.journey("default/web") {
				byAt[j.Seq] = j
				if j.At == look.Written {
					e = j
				}
			}
			assert.Equal(t, 201, e.Code)
			var path []look.Boundary
			for ; len(e.Because) > 0; e = byAt[e.Because[0]] {
				path = append(path, e.At)
			}
			path = append(path, e.At)
			assert.Equal(t, []look.Boundary{look.Written, look.Taken, look.Queued, look.Called, look.Stored, look.Popped, look.Handed, look.Decoded, look.Sent}, path)
		})
	}
}

func TestCounts_AreTheLayersOwn(t *testing.T) {
	v := visit(t, Options{})
	f := v.follow("")
	f.synced()
	v.act("storm", `{"objects": 100, "changes": 200}`)
	f.until(func() bool {
		return f.now.Counts[look.Decoded]["Service"] >= 1+300 && f.now.Counts[look.Returned]["Service"] >= 602
	})
	assert.EventuallyWithT(t, func(t *assert.CollectT) { // the state follows the events
		var now look.Snapshot
		v.ask("GET", "/api/snapshot", "", &now)
		for kind, name := range map[string]string{"Service": "services", "Ingress": "ingresses"} {
			in := now.State.Informers[name]
			delivered := uint64(0)
			for _, h := range in.Handlers {
				delivered += h.Delivered
			}
			assert.Equal(t, now.Counts[look.Returned][kind], delivered, kind)
			objects := in.Reflector.Events + in.Reflector.ListedObjects
			assert.Equal(t, now.Counts[look.Sent][kind], objects+in.Reflector.Bookmarks+1, "%s and a last bookmark", kind)
			assert.Equal(t, now.Counts[look.Stored][kind], objects, kind)
		}
		assert.Equal(t, 101, now.State.Informers["services"].Objects)
	}, patience, time.Millisecond)
	assert.Equal(t, f.now.Seq, uint64(len(f.seen))+f.leftOut, "what was left out is counted")
}

func TestMuted_TheStreamStandsStillAndThePipelineGoesOn(t *testing.T) {
	v := visit(t, Options{})
	f := v.follow("")
	f.synced()
	v.act("mute", `{"on": true}`)
	f.until(func() bool { return f.now.Gate.Muted })
	seq := f.now.Seq
	require.NoError(t, services(v).WaitForResourceVersion(v.ctx, v.apply("web", 80)))
	var now look.Snapshot
	apiservertest.Eventually(t, "the Ingress is in the store", func() error {
		v.ask("GET", "/api/snapshot", "", &now)
		if now.State.Informers["ingresses"].Objects == 0 {
			return errors.New("it is not")
		}
		return nil
	})
	assert.Equal(t, seq, now.Seq, "nothing was reported")
	assert.Equal(t, 2, now.State.Informers["services"].Objects, "the state is read, not observed")
	v.act("mute", `{"on": false}`)
	f.until(func() bool { return !f.now.Gate.Muted })
	v.apply("web", 81)
	f.sees(look.Stored, "replaced", "default/web")
}

func TestSession_HasNoSecrets(t *testing.T) {
	v := visit(t, Options{})
	v.apply("web", 80)
	const two = `{"yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n` +
		`{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {password: hunter2}}"}`
	require.Equal(t, 400, v.ask("POST", "/act/apply", two, nil))
	var session Session
	v.ask("GET", "/api/session", "", &session)
	require.Len(t, session.Actions, 1)
}

func TestSession_HasWhatWasDoneBeforeAnErrorToo(t *testing.T) {
	v := visit(t, Options{})
	const two = `{"yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Unicorn, metadata: {name: a}}"}`
	require.Equal(t, 400, v.ask("POST", "/act/apply", two, nil))
	var session Session
	v.ask("GET", "/api/session", "", &session)
	require.Len(t, session.Actions, 1, "the ConfigMap was made")
}

func TestReset_BeginsAnotherWorld(t *testing.T) {
	v := visit(t, Options{})
	f := v.follow("")
	f.synced()
	v.apply("web", 80)
	var session Session
	v.ask("GET", "/api/session", "", &session)
	require.Len(t, session.Actions, 1)
	assert.Equal(t, "apply", session.Actions[0].Act)
	v.act("pause", `{}`)
	v.act("reset", `{"queue": "perkey", "workers": 2}`)
	f.until(func() bool { return f.now.World == 2 })
	assert.Equal(t, "snapshot", f.kinds[len(f.kinds)-1])
	assert.Equal(t, Options{Queue: "perkey", Workers: 2}, f.now.Options)
	assert.Equal(t, "run", f.now.Gate.Mode)
	f.until(func() bool { return f.now.State.Informers["services"].Objects == 1 })
	v.ask("GET", "/api/session", "", &session)
	assert.Empty(t, session.Actions)
}

func services(v *visitor) *look.Observed[*corev1.Service] {
	return v.lens.world.Load().services
}
