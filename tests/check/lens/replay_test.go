package lens

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"glasswatch/internal/lens"
)

// replays plays a session in virtual time, and wants each object to be observed like this. Tests that the lens exports
// call it.
func replays(t *testing.T, session string, want map[string][]string) {
	t.Helper()
	s, err := lens.ReadSession([]byte(session))
	require.NoError(t, err)
	require.Equal(t, lens.Observed(want), replayed(t, s))
}

// replayed returns what is observed when a session is played in virtual time.
func replayed(t *testing.T, s lens.Session) (all lens.Observed) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		all, err = lens.Replay(s)
		require.NoError(t, err)
	})
	return all
}

// anyAct draws one of what can be done in a session, with the body of its request.
var anyAct = rapid.Custom(func(t *rapid.T) lens.Action {
	acts := []string{"apply", "apply", "apply", "delete", "fault", "fault", "fault", "storm"}
	act := rapid.SampledFrom(acts).Draw(t, "act")
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
	var body any
	switch act {
	case "apply":
		const service = `{apiVersion: v1, kind: Service, metadata: {name: %s, annotations: {ingress/http: "%v"}},
 spec: {ports: [{port: %d}]}}`
		wanted, port := rapid.Bool().Draw(t, "wanted"), rapid.IntRange(80, 83).Draw(t, "port")
		body = map[string]string{"yaml": fmt.Sprintf(service, name, wanted, port)}
	case "delete":
		kind := rapid.SampledFrom([]string{"Service", "Ingress"}).Draw(t, "kind")
		body = map[string]string{"kind": kind, "key": "default/" + name}
	case "fault":
		// Without delay: while a frame waits, the server may choose which comes next, an event or the end of the watch.
		fault := rapid.SampledFrom([]string{
			"cut", "compact", "drop", "expire", "stop", "token", "fail", "slow", "panic",
		}).Draw(t, "fault")
		body = map[string]any{
			"name": fault, "on": rapid.Bool().Draw(t, "on"), "ms": rapid.IntRange(1, 3000).Draw(t, "ms"),
			"handler": rapid.SampledFrom([]string{"", "enqueue", "audit"}).Draw(t, "handler"),
		}
	case "storm":
		body = map[string]int{"objects": rapid.IntRange(0, 5).Draw(t, "objects"), "changes": 5, "per_second": 20}
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // texts and numbers can be written
	}
	return lens.Action{Act: act, Body: text}
})

// anySession draws a session of a few acts, up to some seconds apart.
var anySession = rapid.Custom(func(t *rapid.T) lens.Session {
	s := lens.Session{Format: "lens session 1", Options: lens.Options{
		Queue:   rapid.SampledFrom([]string{"inorder", "perkey"}).Draw(t, "queue"),
		Workers: rapid.IntRange(1, 3).Draw(t, "workers"),
		Resync:  rapid.SampledFrom([]int{0, 0, 1700}).Draw(t, "resync"), Paged: rapid.Bool().Draw(t, "paged"),
	}}
	for range rapid.IntRange(1, 12).Draw(t, "acts") {
		a := anyAct.Draw(t, "act")
		s.End.Micros += int64(rapid.IntRange(0, 3_000_000).Draw(t, "us"))
		a.Micros = s.End.Micros
		s.Actions = append(s.Actions, a)
	}
	s.End.Micros += 5_000_000
	return s
})

func TestReplay_TheSameSessionIsObservedTheSameTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := anySession.Draw(rt, "session")
		first, second := replayed(t, s), replayed(t, s)
		require.NotEmpty(rt, first)
		require.Equal(rt, first, second)
	})
}
