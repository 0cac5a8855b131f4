package lens

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens"
	"glasswatch/internal/lens/look"
)

// scene is a part of the session that the README's animation shows.
type scene struct {
	caption string
	acts    [][2]string // name and body
	shots   []shot      // what was observed
}

// shot is what was observed of default/web, and its place in the order of causes: shots of the same slot have no order.
type shot struct {
	look.Event
	slot int
}

const service = `{"yaml": "{apiVersion: v1, kind: Service, spec: {ports: [{port: %d}]},` +
	` metadata: {name: web, annotations: {ingress/http: \"true\"}}}"}`

// applies is the act that gives the Service a port.
func applies(port int) [][2]string { return [][2]string{{"apply", fmt.Sprintf(service, port)}} }

// script is the session. Between two acts the world comes to rest.
func script() []scene {
	return []scene{
		{caption: "A Service is created. The controller makes its Ingress.", acts: applies(80)},
		{caption: "The Service's port is changed. The Ingress follows.", acts: applies(81)},
		{
			caption: "The watch is cut, the Service deleted, the history compacted. " +
				"A list repairs it: the handler gets a tombstone.",
			acts: [][2]string{
				{"fault", `{"name": "cut", "on": true}`}, {"delete", `{"kind": "Service", "key": "default/web"}`},
				{"fault", `{"name": "compact", "on": true}`}, {"fault", `{"name": "cut", "on": false}`},
			},
		},
	}
}

// play plays the script in virtual time, on the layers.
func play(t *testing.T) (scenes []scene) {
	synctest.Test(t, func(t *testing.T) {
		l, err := lens.New(lens.Options{})
		require.NoError(t, err)
		defer l.Close()
		c := newClient(t, l)
		rest := func() {
			time.Sleep(time.Minute) // of virtual time: longer than any back-off here
			synctest.Wait()
		}
		rest()
		seen := uint64(0)
		for _, s := range script() {
			for _, act := range s.acts {
				c.act(act[0], act[1])
				synctest.Wait() // what has a delay waits until the scene's end
			}
			rest()
			var journey struct{ Events []look.Event }
			require.NoError(t, json.Unmarshal([]byte(c.ask("GET", "/api/journey?key=default/web", "")), &journey))
			events := slices.DeleteFunc(journey.Events, func(e look.Event) bool { return e.Seq <= seen })
			s.shots = shots(events)
			seen = events[len(events)-1].Seq
			scenes = append(scenes, s)
		}
	})
	return scenes
}

// begins has the boundaries at which something may begin. A key that is taken without a cause was put off: nothing
// comes of it.
var begins = []look.Boundary{look.Sent, look.Handed, look.Popped, look.Stored}

// shots orders events by their causes.
func shots(events []look.Event) (all []shot) {
	slots := map[uint64]int{}
	taken := 0 // the slot in which a key was last taken
	for _, e := range events {
		slot, caused := 0, slices.Contains(begins, e.At)
		for _, cause := range e.Because {
			if before, isKnown := slots[cause]; isKnown {
				slot, caused = max(slot, before+1), true
			}
		}
		if !caused || e.At == look.PutOff {
			continue
		}
		switch {
		case e.At == look.Taken:
			taken = slot
		case e.At == look.Reconciled:
			slot++ // after what it wrote
		case e.At == look.Sent && e.Kind == "Ingress":
			slot = taken + 2 // after the write, which may be reported later
		}
		slots[e.Seq] = slot
		if e.Handler != "audit" && e.At != look.Returned && e.At != look.Forgotten {
			all = append(all, shot{e, slot})
		}
	}
	slices.SortFunc(all, func(a, b shot) int {
		if a.slot != b.slot {
			return a.slot - b.slot
		}
		return cmp.Or(places[a.At].order-places[b.At].order, cmp.Compare(a.Kind, b.Kind))
	})
	return slices.CompactFunc(all, func(a, b shot) bool {
		return a.slot == b.slot && a.At == b.At && a.Kind == b.Kind && a.Action == b.Action
	})
}

// The README's animation is what the layers do: it is drawn anew, and must be the same.
func TestAnimation_IsWhatTheLayersDo(t *testing.T) {
	drawn := animate(play(t), layerStyles(t))
	assert.Less(t, len(drawn), 100<<10)
	const file = "../../../docs/pictures/lens-session.svg"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(drawn), 0o644))
	}
	kept, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(kept), drawn, "if the drawing is right: go test -C tests/check ./lens -run Animation -update")
}
