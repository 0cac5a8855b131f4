package follow

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch/shard"
)

// scene is one verb of a random history of a group.
type scene struct {
	Verb      string
	Member    string
	Namespace string
	Name      string
	Fault     string
	Wait      time.Duration
}

var sceneGen = rapid.Custom(func(t *rapid.T) scene {
	return scene{
		Verb: rapid.SampledFrom([]string{"join", "join", "leave", "cut off", "put", "touch", "delete", "make again",
			"fault", "fault", "heal", "pass", "pass"}).Draw(t, "verb"),
		Member:    rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "member"),
		Namespace: rapid.SampledFrom([]string{"a-shop", "b-shop", "c-shop"}).Draw(t, "namespace"),
		Name:      rapid.SampledFrom([]string{"c0", "c1", "c2"}).Draw(t, "name"),
		Fault:     rapid.SampledFrom(slices.Sorted(maps.Keys(misfortunes))).Draw(t, "fault"),
		Wait: rapid.SampledFrom([]time.Duration{0, 50 * time.Millisecond, gatherFor, 500 * time.Millisecond,
			2 * time.Second, 20 * time.Second}).Draw(t, "wait"),
	}
})

// Whatever happens: in the end each shard is listed by one member, and each member's store and handler have the
// server's objects of its shards.
func TestGroup_EqualsTheServerInTheEndOfEachHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		script := rapid.SliceOfN(sceneGen, 1, 40).Draw(rt, "script")
		field := rapid.SampledFrom([]shard.Field{shard.UID, shard.Namespace}).Draw(rt, "field")
		of := rapid.SampledFrom([]int{1, 16, 16, 256}).Draw(rt, "shards")
		paged, off := rapid.Bool().Draw(rt, "paged"), rapid.Bool().Draw(rt, "gate off")
		var problems []string
		inWorld(t, field, apiserver.Options{DisableShards: off}, func(w *world) {
			for _, sc := range script {
				w.play(sc, func(m *member) { m.of, m.paged = of, paged })
				apiservertest.Pass(sc.Wait)
			}
			w.heal()
			apiservertest.Pass(5 * time.Minute)
			problems = w.unshared()
		})
		if len(problems) > 0 {
			rt.Fatal(problems)
		}
	})
}

func (w *world) play(sc scene, change func(*member)) {
	m := w.members[sc.Member]
	switch {
	case sc.Verb == "join" && m == nil:
		w.Join(sc.Member, change)
	case sc.Verb == "leave" && m != nil:
		w.Leave(sc.Member)
	case sc.Verb == "cut off" && m != nil:
		m.Set(func() { m.cutOff = true })
		w.Faults().BreakWatches()
	case sc.Verb == "fault" && m != nil:
		misfortunes[sc.Fault](w, m, w.Faults())
	case sc.Verb == "heal":
		w.heal()
	case sc.Verb == "put", sc.Verb == "touch":
		w.Touch(sc.Namespace, sc.Name)
	case sc.Verb == "delete":
		w.Delete(sc.Namespace, sc.Name)
	case sc.Verb == "make again":
		w.Delete(sc.Namespace, sc.Name)
		w.Touch(sc.Namespace, sc.Name)
	}
}

// heal ends the watches, too: a list of Leases to which no end was sent goes on for as long as members renew theirs.
func (w *world) heal() {
	w.Faults().Reset()
	w.Faults().DropWatches()
	for _, m := range w.members {
		m.Set(func() { m.cutOff = false })
	}
}
