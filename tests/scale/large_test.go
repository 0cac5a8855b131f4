package scale

import (
	"cmp"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A hundred members share 1,024 shards, through a few faults that each hit a third of them.
func TestScale_AHundredMembersShareAThousandShards(t *testing.T) {
	for name, names := range map[string][]string{
		"crashes and lost renewals": {"kill", "join", "renewals lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(1, 1024, 120)
				err := w.playNamed(100, 1024, names, t.Logf)
				require.NoError(t, cmp.Or(err, w.Close()))
			})
		})
	}
}
