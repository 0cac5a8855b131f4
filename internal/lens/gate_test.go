package lens

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens/look"
)

// step waits until something of the key is parked, and lets it go.
func (f *follower) step(v *visitor) look.Parked {
	f.t.Helper()
	f.until(func() bool { return len(f.now.Gate.Parked) > 0 })
	var answer struct{ Released *look.Parked }
	require.Equal(f.t, 200, v.ask("POST", "/act/step", `{}`, &answer))
	require.NotNil(f.t, answer.Released)
	f.until(func() bool { // until the stream knows
		for _, p := range f.now.Gate.Parked {
			if p.Seq == answer.Released.Seq {
				return false
			}
		}
		return true
	})
	return *answer.Released
}

func TestStep_ServiceToIngressOneBoundaryAtATime(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{"inorder", "perkey"} {
		t.Run(queue, func(t *testing.T) {
			v := visit(t, Options{Queue: queue})
			f := v.follow("")
			f.synced()
			v.act("pause", `{"key": "default/web"}`)
			v.apply("web", 80)
			f.until(func() bool { return len(f.now.Gate.Parked) > 0 })
			var now look.Snapshot
			v.ask("GET", "/api/snapshot", "", &now)
			require.Len(t, now.Gate.Parked, 1, "what is parked does not go on")
			require.Equal(t, look.Sent, now.Gate.Parked[0].At)
			require.Len(t, v.journey("default/web"), 1)
			var path []string
			for last := (look.Parked{}); last.At != look.Reconciled; {
				last = f.step(v)
				if last.At != look.Called && last.At != look.Returned { // two handlers, in any order
					path = append(path, fmt.Sprint(last.Kind, " ", last.At))
				}
			}
			assert.Subset(t, path, []string{
				"Service sent", "Service decoded", "Service handed", "Service popped", "Service stored",
				" queued", " taken", "Ingress written", " reconciled",
			})
			v.act("run", `{}`)
			f.sees(look.Stored, "stored", "default/web")
			f.until(func() bool { return f.now.State.Informers["ingresses"].Objects == 1 })
		})
	}
}

// parksAWorker holds back the only worker, with a key in its hands: further keys stay in the queue.
func (f *follower) parksAWorker(v *visitor) {
	f.t.Helper()
	v.act("breakpoint", `{"at": "taken", "key": "default/held"}`)
	v.apply("held", 80)
	f.until(func() bool { return f.now.Gate.Hit != nil })
	v.act("pause", `{"key": "nothing/else"}`) // what is parked stays, the rest goes on
}

func TestBreakpoints_PauseTheWorld(t *testing.T) {
	for name, c := range map[string]struct {
		breakpoint string
		prepare    func(v *visitor, f *follower)
		provoke    func(v *visitor)
		at         look.Boundary
	}{
		"a delta of a key is popped": {
			`{"at": "popped", "key": "default/web", "kind": "Service"}`, nil,
			func(v *visitor) { v.apply("web", 80) }, look.Popped,
		},
		"a handler gets a tombstone": {
			`{"at": "called", "tombstone": true}`, nil, func(v *visitor) {
				v.act("fault", `{"name": "cut", "on": true}`)
				v.act("delete", `{"kind": "Service", "key": "default/kubernetes"}`)
				v.act("fault", `{"name": "compact", "on": true}`)
				v.act("fault", `{"name": "cut", "on": false}`)
			}, look.Called,
		},
		"the queue has more than": {
			`{"over": 3}`, func(v *visitor, f *follower) { f.parksAWorker(v) },
			func(v *visitor) { v.act("storm", `{"objects": 5}`) }, look.Queued,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := visit(t, Options{})
			f := v.follow("")
			f.synced()
			if c.prepare != nil {
				c.prepare(v, f)
			}
			var answer struct{ ID int }
			require.Equal(t, 200, v.ask("POST", "/act/breakpoint", c.breakpoint, &answer))
			c.provoke(v)
			f.until(func() bool { return f.now.Gate.Hit != nil && f.now.Gate.Hit.ID == answer.ID })
			assert.Equal(t, "step", f.now.Gate.Mode)
			isThere := func(p look.Parked) bool { return p.At == c.at }
			assert.True(t, slices.ContainsFunc(f.now.Gate.Parked, isThere), "%v", f.now.Gate.Parked)
			v.act("clear", `{}`)
			v.act("run", `{}`)
			f.until(func() bool { return f.now.Gate.Mode == "run" && len(f.now.Gate.Parked) == 0 })
		})
	}
}

func TestActs_RefuseWhatTheyCannotRead(t *testing.T) {
	v := visit(t, Options{})
	for _, c := range []struct {
		act, body string
		code      int
	}{
		{"dance", `{}`, 404},
		{"pause", `{`, 400},
		{"pause", `{"kee": "a"}`, 400},
		{"breakpoint", `{}`, 400},
		{"clear", `{"id": 7}`, 404},
		{"fault", `{"name": "flood"}`, 404},
		{"fault", `{"name": "delay", "on": true, "ms": -1}`, 400},
		{"reset", `{"queue": "heap"}`, 400},
		{"storm", `{"objects": -1}`, 400},
		{"delete", `{"kind": "Service", "key": "default/none"}`, 404},
		{"delete", `{"kind": "Unicorn", "key": "default/none"}`, 400},
		{"apply", `{"yaml": "{apiVersion: v1, kind: Service, metadata: {name: UPPER}}"}`, 422},
	} {
		answer := map[string]string{}
		assert.Equal(t, c.code, v.ask("POST", "/act/"+c.act, c.body, &answer), "%s %s: %v", c.act, c.body, answer)
		assert.NotEmpty(t, answer["error"])
	}
}
