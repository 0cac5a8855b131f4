package workqueue

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// model is a queue as one would write it without a thought for speed: slices and maps, searched from end to end.
type model struct {
	merge      bool
	closed     bool
	ready      []modelItem
	processing map[int]bool
	dirty      map[int]int // item → priority
	delayed    []modelDelay
	drains     []*modelDrain
}

// modelDrain is a ShutDownWithDrain that runs.
type modelDrain struct {
	over chan struct{}
	free bool // to return, even if there is work
}

func (m *model) shutDown() {
	m.closed, m.delayed = true, nil
	for _, d := range m.drains {
		d.free = true
	}
}

type modelItem struct{ item, priority int }

type modelDelay struct {
	modelItem
	due time.Time
}

func (m *model) add(item, priority int) {
	if m.closed {
		return
	}
	if i := m.delayOf(item); m.merge && i >= 0 {
		priority = max(priority, m.delayed[i].priority)
		m.delayed = slices.Delete(m.delayed, i, i+1)
	}
	m.due(item, priority)
}

func (m *model) due(item, priority int) {
	i := slices.IndexFunc(m.ready, func(r modelItem) bool { return r.item == item })
	switch had, dirty := m.dirty[item]; {
	case dirty:
		m.dirty[item] = max(had, priority)
	case m.processing[item]:
		m.dirty[item] = priority
	case i < 0:
		m.ready = append(m.ready, modelItem{item, priority})
	case priority > m.ready[i].priority:
		m.ready = append(slices.Delete(m.ready, i, i+1), modelItem{item, priority})
	}
}

func (m *model) delayOf(item int) int {
	return slices.IndexFunc(m.delayed, func(d modelDelay) bool { return d.item == item })
}

func (m *model) addAfter(item int, d time.Duration, priority int) {
	if d <= 0 {
		m.add(item, priority)
		return
	}
	if m.closed {
		return
	}
	due := time.Now().Add(d)
	if i := m.delayOf(item); i >= 0 {
		had := m.delayed[i]
		had.priority = max(had.priority, priority)
		m.delayed[i] = had
		if due.Before(had.due) {
			had.due = due
			m.delayed = append(slices.Delete(m.delayed, i, i+1), had)
		}
		return
	}
	_, dirty := m.dirty[item]
	if m.merge && (dirty || slices.ContainsFunc(m.ready, func(r modelItem) bool { return r.item == item })) {
		m.due(item, priority)
		return
	}
	m.delayed = append(m.delayed, modelDelay{modelItem{item, priority}, due})
}

func (m *model) cancel(item int) bool {
	i := m.delayOf(item)
	if i >= 0 {
		m.delayed = slices.Delete(m.delayed, i, i+1)
	}
	return i >= 0
}

// tick makes due what is, by deadline and then by the order of the promises.
func (m *model) tick() {
	slices.SortStableFunc(m.delayed, func(a, b modelDelay) int { return a.due.Compare(b.due) })
	for len(m.delayed) > 0 && !m.delayed[0].due.After(time.Now()) {
		d := m.delayed[0]
		m.delayed = m.delayed[1:]
		m.due(d.item, d.priority)
	}
}

func (m *model) get() modelItem {
	best := 0
	for i, r := range m.ready {
		if r.priority > m.ready[best].priority {
			best = i
		}
	}
	r := m.ready[best]
	m.ready = slices.Delete(m.ready, best, best+1)
	m.processing[r.item] = true
	return r
}

func (m *model) done(item int) {
	if !m.processing[item] {
		return
	}
	delete(m.processing, item)
	if p, dirty := m.dirty[item]; dirty {
		delete(m.dirty, item)
		m.ready = append(m.ready, modelItem{item, p})
	}
}

// depth is Metrics that count what a depth gauge would show.
type depth struct{ atomic.Int64 }

func (d *depth) Added()                                  { d.Add(1) }
func (d *depth) Taken(time.Duration)                     { d.Add(-1) }
func (d *depth) Finished(time.Duration)                  {}
func (d *depth) Unfinished(time.Duration, time.Duration) {}
func (d *depth) Retried()                                {}

// actions are the mutators, each done to the queue and to the model.
func actions(q *DelayingQueue[int], m *model, depth *depth) map[string]func(*rapid.T) {
	anItem, aPriority := rapid.IntRange(0, 6), rapid.SampledFrom([]int{0, 0, 0, -10, 10, 3})
	aDelay := rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.IntRange(-1, 6).Draw(t, "seconds")) * time.Second
	})
	return map[string]func(*rapid.T){
		"Add": func(t *rapid.T) {
			item := anItem.Draw(t, "item")
			q.Add(item)
			m.add(item, 0)
		},
		"AddWithPriority": func(t *rapid.T) {
			item, p := anItem.Draw(t, "item"), aPriority.Draw(t, "priority")
			q.AddWithPriority(item, p)
			m.add(item, p)
		},
		"AddAfter": func(t *rapid.T) {
			item, d, p := anItem.Draw(t, "item"), aDelay.Draw(t, "delay"), aPriority.Draw(t, "priority")
			q.AddAfterWithPriority(item, d, p)
			m.addAfter(item, d, p)
		},
		"CancelDelayed": func(t *rapid.T) {
			item := anItem.Draw(t, "item")
			require.Equal(t, m.cancel(item), q.CancelDelayed(item))
		},
		"Get": func(t *rapid.T) {
			if len(m.ready) == 0 {
				t.Skip("nothing to get")
			}
			item, p, shutdown := q.GetWithPriority()
			require.False(t, shutdown)
			require.Equal(t, m.get(), modelItem{item, p})
		},
		"Done": func(t *rapid.T) {
			item := anItem.Draw(t, "item")
			q.Done(item)
			m.done(item)
		},
		"Pass": func(t *rapid.T) {
			<-time.After(aDelay.Draw(t, "time"))
			synctest.Wait()
			m.tick()
		},
		"ShutDown": func(t *rapid.T) {
			if rapid.IntRange(0, 30).Draw(t, "luck") > 0 {
				t.Skip("not yet")
			}
			q.ShutDown()
			m.shutDown()
		},
		"ShutDownWithDrain": func(t *rapid.T) {
			if rapid.IntRange(0, 30).Draw(t, "luck") > 0 {
				t.Skip("not yet")
			}
			d := &modelDrain{over: make(chan struct{})}
			go func() { defer close(d.over); q.ShutDownWithDrain() }()
			synctest.Wait()
			m.closed, m.delayed, m.drains = true, nil, append(m.drains, d)
		},
		"": func(t *rapid.T) {
			require.NoError(t, q.checkInvariants())
			if len(m.drains) > 0 {
				synctest.Wait()
			}
			for _, d := range m.drains {
				d.free = d.free || len(m.ready)+len(m.processing) == 0
				require.Equal(t, d.free, isOver(d.over), "a drain that has returned")
			}
			s := q.Stats()
			require.Equal(t, Stats{Queued: len(m.ready), Processing: len(m.processing), Delayed: len(m.delayed)}, s)
			require.Equal(t, m.closed, q.ShuttingDown())
			require.EqualValues(t, len(m.ready)+len(m.dirty), depth.Load(), "depth")
			require.EqualValues(t, len(m.ready), q.Len())
		},
	}
}

func isOver(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// noDeadline hides T.Deadline, which a bubble forbids.
type noDeadline struct{ rapid.TB }

func TestQueue_BehavesLikeItsModel(t *testing.T) {
	for _, merge := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			rapid.Check(noDeadline{t}, func(t *rapid.T) {
				var d depth
				q := NewDelaying(Options[int]{MergeDelayed: merge, Metrics: &d})
				defer q.ShutDown()
				t.Repeat(actions(q, &model{merge: merge, processing: map[int]bool{}, dirty: map[int]int{}}, &d))
			})
		})
	}
}

// The model's delays are few; here the heap is deep enough for an entry to move up when another one leaves.
func TestDelayHeap_StaysInOrderWhateverLeavesIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := NewDelaying(Options[int]{})
		for i, d := range rapid.SliceOfN(rapid.IntRange(1, 1000), 50, 150).Draw(t, "hours") {
			q.AddAfter(i, time.Duration(d)*time.Hour)
		}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, 150), 1, 60).Draw(t, "items") {
			if i%2 == 0 {
				q.CancelDelayed(i)
			} else {
				q.AddAfter(i, time.Duration(i)*time.Hour)
			}
			require.NoError(t, q.checkInvariants())
		}
		q.ShutDown()
	})
}
