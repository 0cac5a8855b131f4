package limiters

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// retry is what the model of the counters remembers of an item.
type retry struct{ item, n int }

// countsModel is a slice in the order of the last retries.
type countsModel struct {
	most    int
	retries []retry
	evicted uint64
}

func (m *countsModel) find(item int) int {
	return slices.IndexFunc(m.retries, func(r retry) bool { return r.item == item })
}

func (m *countsModel) n(item int) int {
	if i := m.find(item); i >= 0 {
		return m.retries[i].n
	}
	return 0
}

func (m *countsModel) increment(item int) int {
	n := m.n(item) + 1
	if i := m.find(item); i >= 0 {
		m.retries = slices.Delete(m.retries, i, i+1)
	} else if len(m.retries) == m.most {
		m.retries = m.retries[1:]
		m.evicted++
	}
	m.retries = append(m.retries, retry{item, n})
	return n
}

func (m *countsModel) forget(item int) {
	if i := m.find(item); i >= 0 {
		m.retries = slices.Delete(m.retries, i, i+1)
	}
}

func TestCounts_BehaveLikeASliceInTheOrderOfRetries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &countsModel{most: rapid.IntRange(1, 5).Draw(t, "most")}
		c := &Counts[int]{MaxTracked: m.most}
		item := rapid.IntRange(0, 7)
		t.Repeat(map[string]func(*rapid.T){
			"retry": func(t *rapid.T) {
				i := item.Draw(t, "item")
				require.Equal(t, m.increment(i), c.increment(i))
			},
			"Forget": func(t *rapid.T) {
				i := item.Draw(t, "item")
				m.forget(i)
				c.Forget(i)
			},
			"": func(t *rapid.T) {
				for i := range 8 {
					require.Equal(t, m.n(i), c.NumRequeues(i), "item %d", i)
				}
				require.Equal(t, len(m.retries), c.Tracked())
				require.Equal(t, m.evicted, c.Evicted())
			},
		})
	})
}
