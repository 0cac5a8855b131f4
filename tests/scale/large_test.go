package scale

import (
	"cmp"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// large are schedules of groups that are as large as they come. The first hits a third of the members by its faults.
var large = []struct {
	members, shards int
	steps           []string
}{
	{100, 1024, []string{"kill", "join", "leave"}},
	{100, 256, []string{"renewals lost", "partition"}},
	{60, 512, []string{"stalled watch", "lossy"}},
	{40, 256, []string{"held hand-over", "another number of shards"}},
}

// playLarge has a hundred members share a thousand shards, through faults that each hit up to a third of them.
func playLarge(t *testing.T) {
	for i, group := range large {
		t.Run(group.steps[0], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(uint64(i), group.shards, group.members+20)
				err := w.playNamed(group.members, group.shards, group.steps, t.Logf)
				require.NoError(t, cmp.Or(err, w.Close()))
				for at, s := range steps {
					for _, name := range group.steps {
						require.False(t, name == s.name && w.tally.steps[at].Load() == 0, "%s has hit nothing", name)
					}
				}
			})
		})
	}
}
