package scale

import "testing"

// The same, of members whose informers follow their shards: no reconcile begins whose store misses what the server had
// when the shard was got. After each step each object is in one store, that of its shard's owner, in its last version.
func TestScaleFollow(t *testing.T) {
	playAll(t, *schedules/10, func(w *world) { w.objects = newObjects(w) })
}
