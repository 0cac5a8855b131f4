package reflector

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"glasswatch/listwatch"
)

// TestOpenStream_JudgesEveryVersionAsByComparison: the shortcut for versions that rise takes nothing over that the
// comparisons would not, and lets no older event pass.
func TestOpenStream_JudgesEveryVersionAsByComparison(t *testing.T) {
	version := rapid.OneOf(
		rapid.Map(rapid.IntRange(1, 120), strconv.Itoa),
		rapid.SampledFrom([]string{"", "0", "007", "x", "12x", "18446744073709551617", "9999999999999999999", "99999999999999999999"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		from := version.Draw(t, "from")
		r := New[object](nil, nullSink{}, Options{ResumeFrom: from})
		s := &openStream[object]{from: from, at: from, inOrder: true}
		r.run.stream = s
		at, old := from, uint64(0)
		for range rapid.IntRange(1, 20).Draw(t, "events") {
			ev := listwatch.Event[object]{
				Type:            rapid.SampledFrom([]listwatch.EventType{listwatch.Modified, listwatch.Deleted}).Draw(t, "type"),
				ResourceVersion: version.Draw(t, "version"),
			}
			rewound := ev.Type != listwatch.Deleted && isOlder(ev.ResourceVersion, from)
			require.Equal(t, rewound, s.ahead(ev.ResourceVersion) == 0 && s.isRewound(&ev))
			if rewound {
				continue
			}
			switch {
			case isOlder(ev.ResourceVersion, at):
				old++
			case ev.ResourceVersion != "" && ev.ResourceVersion != at:
				at = ev.ResourceVersion
			}
			r.advance(ev.ResourceVersion)
			require.Equal(t, at, s.at)
			require.Equal(t, old, r.Stats().OldVersions)
			require.Equal(t, at, r.LastSyncResourceVersion())
		}
	})
}
