package chaos

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/listwatch"
)

// What the schedules ask of the order of events must hold across deletions, too.
func TestRecorder_ObjectsToWhatGoesBack(t *testing.T) {
	type call struct {
		what     string
		old, obj *state
	}
	at := func(uid, version string) *state { return &state{uid: uid, version: version} }
	for name, c := range map[string]struct {
		calls    []call
		restores int64
		want     string
	}{
		"nothing is wrong": {calls: []call{{"add", nil, at("1", "3")}, {"update", at("1", "3"), at("1", "5")}, {"delete", nil, at("1", "6")}, {"add", nil, at("2", "7")}}},
		"an update":        {calls: []call{{"add", nil, at("1", "3")}, {"update", at("1", "3"), at("1", "2")}}, want: "goes back"},
		"another object":   {calls: []call{{"add", nil, at("1", "3")}, {"update", at("1", "3"), at("2", "2")}}, want: "goes back"},
		"after a deletion": {calls: []call{{"add", nil, at("1", "3")}, {"delete", nil, at("1", "5")}, {"add", nil, at("2", "4")}}, want: "goes back"},
		"a dead object": {calls: []call{{"add", nil, at("1", "3")}, {"delete, unknown", nil, at("1", "3")}, {"add", nil, at("1", "3")}},
			want: "was deleted"},
		"a restored backup":     {calls: []call{{"add", nil, at("1", "3")}, {"delete", nil, at("1", "5")}, {"add", nil, at("1", "2")}}, restores: 1},
		"once for each restore": {calls: []call{{"add", nil, at("1", "3")}, {"update", at("1", "3"), at("1", "2")}, {"update", at("1", "2"), at("1", "1")}}, restores: 1, want: "goes back"},
	} {
		t.Run(name, func(t *testing.T) {
			var restores atomic.Int64
			restores.Store(c.restores)
			r := newRecorder("1", false, &world{})
			r.restores = &restores
			for _, call := range c.calls {
				r.told(call.what, listwatch.Key{Name: "a"}, call.old, call.obj)
			}
			if c.want == "" {
				require.Empty(t, r.complaints())
				return
			}
			require.Len(t, r.complaints(), 1)
			require.Contains(t, r.complaints()[0], c.want)
		})
	}
}
