package shards

import (
	"context"

	"glasswatch/controller"
	"glasswatch/listwatch"
)

// Reconciler returns one that calls r for the keys of shards that m holds, under a pin. It drops the others: they are
// the business of whoever holds their shard. So the keys of a shard must be enqueued when OnChange says that it was
// gained. shardOf returns a key's shard, or a number below 0 if it cannot tell, as of an object that is gone.
func Reconciler(
	m *Member, shardOf func(listwatch.Key) int, r controller.Reconciler[listwatch.Key],
) controller.Reconciler[listwatch.Key] {
	return controller.Func[listwatch.Key](func(ctx context.Context, key listwatch.Key) (controller.Result, error) {
		ctx, done, ok := m.Begin(ctx, shardOf(key))
		if !ok {
			return controller.Result{}, nil
		}
		defer done()
		return r.Reconcile(ctx, key)
	})
}
