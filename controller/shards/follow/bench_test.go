package follow

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/listwatch/shard"
)

// BenchmarkRanges is what an event costs at the server, in the real one's filter: one watch with so many ranges beside
// so many watches with one range each.
func BenchmarkRanges(b *testing.B) {
	events := make([]*corev1.ConfigMap, 1024)
	for n := range events {
		uid := types.UID(fmt.Sprintf("%08x-0000-4000-8000", n*0x9e3779))
		events[n] = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{UID: uid}}
	}
	for _, ranges := range []int{1, 8, 41, 64, 128, 256} {
		one := make([]sharding.ShardRangeRequirement, ranges)
		many := make([]sharding.Selector, ranges)
		for n := range one {
			text := shard.Selector{Field: shard.UID, Ranges: shard.Merge(shard.Of(2*n, 2*ranges))}.String()
			bounds := [2]string{}
			_, _ = fmt.Sscanf(text, "shardRange(object.metadata.uid, '%18s', '%18s')", &bounds[0], &bounds[1])
			one[n] = sharding.ShardRangeRequirement{Key: string(shard.UID), Start: bounds[0], End: bounds[1]}
			many[n] = sharding.NewSelector(one[n])
		}
		filters := map[string][]sharding.Selector{"one": {sharding.NewSelector(one...)}, "each": many}
		for name, selectors := range filters {
			b.Run(fmt.Sprintf("ranges=%d/watches=%s", ranges, name), func(b *testing.B) {
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					for _, s := range selectors {
						_, _ = s.Matches(events[n%len(events)])
					}
					n++
				}
			})
		}
	}
}
