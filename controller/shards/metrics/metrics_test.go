package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRegister_ShowsWhatAMemberTells(t *testing.T) {
	reg := prometheus.NewRegistry()
	hooks, onForeign, err := Register(reg, "web", func() (objects, largest int) { return 9, 4 })
	require.NoError(t, err)
	onForeign()
	onForeign()
	onForeign()
	hooks.Changed(8, 2, 0)
	hooks.Changed(7, 0, 1)
	hooks.Listed(2*time.Second, time.Second)
	require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP shards_held Shards that this member holds.
# TYPE shards_held gauge
shards_held{group="web"} 7
# HELP shards_gained_total Shards that this member has got.
# TYPE shards_gained_total counter
shards_gained_total{group="web"} 2
# HELP shards_lost_total Shards that this member has let go.
# TYPE shards_lost_total counter
shards_lost_total{group="web"} 1
# HELP shards_foreign_objects_total Objects of other shards that were sent here and dropped.
# TYPE shards_foreign_objects_total counter
shards_foreign_objects_total{group="web"} 3
# HELP shards_objects Objects that this member's stores have.
# TYPE shards_objects gauge
shards_objects{group="web"} 9
# HELP shards_largest_objects Objects of the largest shard among them.
# TYPE shards_largest_objects gauge
shards_largest_objects{group="web"} 4
`), "shards_held", "shards_gained_total", "shards_lost_total", "shards_foreign_objects_total", "shards_objects",
		"shards_largest_objects"))
	for _, name := range []string{"shards_unowned_seconds", "shards_lag_seconds"} {
		n, err := testutil.GatherAndCount(reg, name)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
	_, _, err = Register(reg, "web", nil)
	require.Error(t, err, "one name twice")
}
