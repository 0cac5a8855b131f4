package main

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/internal/apiserver"
)

// holding is a result of processes that hold so many bytes, for ten objects each.
func holding(name string, live ...uint64) result {
	r := result{setup: setup{name: name}}
	for _, bytes := range live {
		r.members = append(r.members, memberResult{Held: held{Objects: 10, Live: bytes}})
	}
	return r
}

func TestGoals_ComparePartsWithTheWhole(t *testing.T) {
	results := []result{
		holding(decodedShared, 4000), holding(one, 9000), holding(one, 10_000), holding(one, 11_000),
		holding(five, 2000, 2600, 2000, 2000, 2400),
	}
	page := (&report{results: results}).tables()
	require.Contains(t, page, "above the object's own | 350 B | 600 B | **missed** |")
	require.Contains(t, page, "| five shards: live heap of all, of what one process holds | 1.3× | 1.100× | met |")
	require.Contains(t, page, "| five shards: live heap of the largest | 0.26× | 0.260× | met |")
	require.Contains(t, page, "server without: live heap of the largest | 0.26× | NaN× | not measured |")
}

func TestMedian_IsOfOneSetupOnly(t *testing.T) {
	results := []result{holding("a", 30), holding("b", 7), holding("a", 10), holding("a", 20)}
	require.InDelta(t, 20, median(results, "a", sumOf(live)), 0)
	require.InDelta(t, 15, median(results[:3], "a", func(r result) float64 { return r.sum(live) * 3 / 4 }), 0)
	require.True(t, math.IsNaN(median(results, "c", sumOf(live))))
}

func TestRaw_HasALineForEachResult(t *testing.T) {
	r := &report{options: options{n: 5}, results: []result{holding(one, 8), holding(five, 2, 3)}}
	lines := strings.Split(r.rawFigures(), "\n")
	require.Len(t, lines, 8, "five of the machine, two results, and the end")
	require.Contains(t, lines[5], "BenchmarkScale/objects=5/setup=glasswatch-0\t1\t")
	require.Contains(t, lines[6], "BenchmarkScale/objects=5/setup=glasswatch-5-0\t1\t")
	require.Contains(t, lines[6], "\t5 live-B\t3 live-B/member\t")
}

func TestState_IsThatOfTheServersObjectsInAnyOrder(t *testing.T) {
	p, err := populate(apiserver.New(apiserver.Options{}), 300)
	require.NoError(t, err)
	require.Equal(t, 300, p.state.Objects)
	for range 1000 {
		n, err := p.change()
		require.NoError(t, err)
		require.Contains(t, []int{1, 2}, n)
	}
	want := state{}
	for _, sum := range p.present {
		want = want.plus(state{1, sum})
	}
	require.Equal(t, want, p.state)

	obj := func(uid, version string) *corev1.ConfigMap {
		o := itemAt(7, time.Now())
		o.UID, o.ResourceVersion = types.UID(uid), version
		return o
	}
	var s, other, changed state
	s.add(obj("a", "1"))
	s.add(obj("b", "2"))
	other.add(obj("b", "2"))
	other.add(obj("a", "1"))
	require.Equal(t, s, other)
	changed.add(obj("b", "3"))
	changed.add(obj("a", "1"))
	require.NotEqual(t, s, changed, "a version was missed")
}

func TestChurn_MakesSoManyChangesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := populate(apiserver.New(apiserver.Options{}), 50)
		require.NoError(t, err)
		before := p.server.Revision()
		ended := make(chan error)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		go func() { ended <- p.churn(ctx, 200) }()
		require.NoError(t, <-ended)
		require.InDelta(t, 2000, p.changes.Load(), 5)
		require.EqualValues(t, p.changes.Load(), p.server.Revision()-before, "each is a write")
	})
}

func TestHandler_SaysHowLateObjectsCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h handler
		for late := range 200 {
			h.written(itemAt(1, time.Now().Add(-time.Duration(late+1)*time.Millisecond)))
		}
		h.events.Add(1) // a deletion
		events, p50, p99 := h.take()
		require.EqualValues(t, 201, events)
		require.Equal(t, 100*time.Millisecond, p50)
		require.Equal(t, 198*time.Millisecond, p99)
		events, p50, _ = h.take()
		require.EqualValues(t, 201, events)
		require.Zero(t, p50, "none since")
	})
}
