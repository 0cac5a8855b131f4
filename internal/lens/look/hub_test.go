package look

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHub_CountsWhatItLeavesOut(t *testing.T) {
	h := NewHub()
	const reporters, each = 8, 4_000
	var reporting, reading sync.WaitGroup
	stop := make(chan struct{})
	seen, leftOut := 0, uint64(0)
	reading.Go(func() {
		for seq := uint64(0); ; {
			changes := h.Changes()
			n := h.since(seq, math.MaxUint64, map[string]bool{"r0/k0": true})
			seq = n.Seq
			seen, leftOut = seen+len(n.Events), leftOut+n.LeftOut
			select {
			case <-changes:
			case <-stop:
				if n.Seq == reporters*each {
					return
				}
			}
		}
	})
	for r := range reporters {
		reporting.Go(func() {
			for i := range each {
				h.Report(Event{At: Decoded, Kind: "Service", Key: fmt.Sprintf("r%d/k%d", r, i%50)})
			}
		})
	}
	reporting.Wait()
	close(stop)
	reading.Wait()
	assert.EqualValues(t, reporters*each, uint64(seen)+leftOut)
	assert.EqualValues(t, reporters*each, h.since(0, math.MaxUint64, nil).Counts[Decoded]["Service"])
}

func TestHub_SampleHasWholeJourneysAndWhatIsFollowed(t *testing.T) {
	h := NewHub()
	const keys, each = 500, 6
	for range each {
		for k := range keys {
			h.Report(Event{At: Stored, Key: fmt.Sprintf("ns/%d", k)})
		}
	}
	h.Report(Event{At: Called, Key: "ns/gone", Tombstone: true})
	n := h.since(0, math.MaxUint64, map[string]bool{"ns/7": true})
	count := map[string]int{}
	for _, e := range n.Events {
		count[e.Key]++
	}
	assert.Less(t, len(n.Events), 2*tickMost)
	assert.Greater(t, len(n.Events), tickMost/4)
	assert.Equal(t, each, count["ns/7"])
	assert.Equal(t, 1, count["ns/gone"])
	delete(count, "ns/gone")
	for key, n := range count {
		assert.Equal(t, each, n, key)
	}
}
