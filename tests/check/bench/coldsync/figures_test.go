package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"

	"glasswatch/tests/check/bench/internal/usage"
)

// took are results of which only the wall time matters.
func took(seconds ...float64) (results []result) {
	for _, s := range seconds {
		results = append(results, result{syncFigures: syncFigures{Wall: time.Duration(s * float64(time.Second))}})
	}
	return results
}

func TestSpread_IsTheMiddleAndTheEnds(t *testing.T) {
	of := ofSync[0].of
	require.Equal(t, spread{2, 1, 9}, spreadOf(took(9, 1, 2), of))
	require.Equal(t, spread{2.5, 1, 9}, spreadOf(took(9, 1, 2, 3), of), "of an even number, the mean of the middle two")
	require.Equal(t, spread{4, 4, 4}, spreadOf(took(4), of))
	require.True(t, math.IsNaN(spreadOf(nil, of).median))
}

func TestSpread_LeavesOutRunsWithoutAStorm(t *testing.T) {
	results := []result{{}, {storms: []stormFigures{{Rate: 7}, {Rate: 9}}}}
	require.Equal(t, spread{7, 7, 7}, spreadOf(results, ofStorm(0)[0].of))
	require.Equal(t, spread{9, 9, 9}, spreadOf(results, ofStorm(1)[0].of))
}

func TestPercentile_IsTheLeastThatEnoughDoNotExceed(t *testing.T) {
	sorted := make([]int, 200)
	for i := range sorted {
		sorted[i] = i + 1
	}
	require.Equal(t, 100, percentile(sorted, 50))
	require.Equal(t, 198, percentile(sorted, 99))
	require.Equal(t, 5, percentile([]int{5}, 99))
	require.Equal(t, 1, percentile([]int{1, 2}, 50))
	require.Equal(t, 2, percentile([]int{1, 2, 3}, 50))
	require.Zero(t, percentile([]int(nil), 50))
}

func TestGoals_AreMetIfTheLowerEndMeetsThem(t *testing.T) {
	around := func(v float64) []result {
		var all []result
		for i := range 10 {
			all = append(all, took(v*(0.955+0.01*float64(i)))...)
		}
		return all
	}
	r := &report{results: map[string][]result{glasswatch: around(1), clientGo: around(1.6)}}
	goals := func() string {
		var b strings.Builder
		r.goals(&b)
		return b.String()
	}
	require.Contains(t, goals(), "| wall time at least 1.4× | glasswatch beside client-go | 1.6× (1.49–1.72) | met |")
	r.results[clientGo] = around(1.45)
	require.Contains(t, goals(), "| 1.5× (1.35–1.56) | **missed** |", "the center does not count")
	r.results[clientGo] = took(9)
	require.Contains(t, goals(), "| n = 1 | too few rounds |")
	r.results[clientGo] = nil
	require.Contains(t, goals(), "| – | not measured |")
}

func TestPage_ShowsLossesLikeWins(t *testing.T) {
	r := &report{
		options: options{variants: []string{glasswatch, clientGo, floor}},
		results: map[string][]result{glasswatch: took(3, 4, 2), clientGo: took(2), floor: nil},
	}
	page := r.page()
	require.Contains(t, page, "| glasswatch | 3.00 s (2.00 s–4.00 s) |")
	require.Contains(t, page, "| glasswatch beside client-go | n = 1 |")
	require.Contains(t, page, "| floor | – |")
	require.NotContains(t, page, "storm of updates", "there was none")
}

func TestRaw_IsReadByBenchstat(t *testing.T) {
	r := &report{
		options: options{n: 10, variants: []string{glasswatch, clientGo}, storms: []weather{{rate: 12}, {rate: 0}}},
		machine: usage.Machine{Cores: 2},
		results: map[string][]result{
			glasswatch: {{syncFigures{Wall: time.Second, CPU: time.Millisecond, Live: 5}, []stormFigures{{Rate: 12, P99: time.Millisecond}, {Rate: 13}}}},
			clientGo:   took(2, 3),
		},
	}
	reader := benchfmt.NewReader(strings.NewReader(r.raw()), "raw")
	var names []string
	for reader.Scan() {
		result, ok := reader.Result().(*benchfmt.Result)
		require.True(t, ok, "%v", reader.Result())
		names = append(names, string(result.Name.Full()))
		switch len(names) {
		case 1:
			wall, _ := result.Value("sec/op")
			require.InDelta(t, 1, wall, 0)
		case 2:
			p99, _ := result.Value("p99-sec")
			require.InDelta(t, 0.001, p99, 0)
		}
	}
	require.NoError(t, reader.Err())
	require.Equal(t, []string{
		"ColdSync/pods=10/impl=glasswatch-2", "Storm/pods=10/rate=12/impl=glasswatch-2", "Storm/pods=10/rate=0/impl=glasswatch-2",
		"ColdSync/pods=10/impl=client-go-2", "ColdSync/pods=10/impl=client-go-2",
	}, names)
}

func TestForecast_HasAStormForEachRate(t *testing.T) {
	storms, err := forecast(time.Second, "200,0")
	require.NoError(t, err)
	require.Equal(t, []weather{{time.Second, 200}, {time.Second, 0}}, storms)
	storms, err = forecast(0, "200")
	require.NoError(t, err)
	require.Empty(t, storms)
	for _, rates := range []string{"", "many", "200,-1", "200;0"} {
		_, err = forecast(time.Second, rates)
		require.ErrorContains(t, err, "-rate")
	}
}

func TestProgress_SaysDoneRateAndTimeLeft(t *testing.T) {
	p := &progress{what: "pods", total: 100}
	require.Equal(t, "pods: 0 of 100, 0.0/s, some time left", p.line(time.Second))
	for range 25 {
		p.step()
	}
	require.Equal(t, "pods: 25 of 100, 5.0/s, 15s left", p.line(5*time.Second))
}
