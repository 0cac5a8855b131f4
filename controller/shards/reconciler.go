package shards

import (
	"context"

	"glasswatch/controller"
	"glasswatch/listwatch"
)

// Pins are what Reconciler needs: a [Member], or a group whose Begin also wants the shard to be listed.
type Pins interface {
	Begin(parent context.Context, shard int) (ctx context.Context, done func(), ok bool)
}

// Reconciler returns one that calls r for the keys of shards that m holds, under a pin. It drops the others: they are
// the business of whoever holds their shard. So the keys of a shard must be enqueued when OnChange says that it was
// gained, or listed. shardOf returns a key's shard, or a number below 0 if it cannot tell, as of an object that is
// gone.
func Reconciler(
	m Pins, shardOf func(listwatch.Key) int, r controller.Reconciler[listwatch.Key],
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
