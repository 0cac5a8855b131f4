package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchmath"

	"glasswatch/tests/check/bench/internal/versus"
)

// raw is what benchmarks print: ten runs of each, which differ by some percent.
var raw = "goos: linux\ncpu: some processor\n" +
	runs("Get/objects=10/impl=glasswatch", 30, "ns/op\t 0 B/op\t 0 allocs/op") +
	runs("Get/objects=10/impl=client-go", 60, "ns/op\t 64 B/op\t 2 allocs/op") +
	runs("Get/objects=10/impl=compat", 75, "ns/op\t 64 B/op\t 2 allocs/op") +
	runs("Get/objects=10/impl=floor", 15, "ns/op\t 0 B/op\t 0 allocs/op") +
	runs("Held/impl=glasswatch", 5, "ns/op\t 120 B/object") +
	runs("Held/impl=client-go", 5, "ns/op\t 240 B/object") +
	runs("Write/impl=glasswatch", 5, "ns/op\t 500 reads/s") +
	runs("Write/impl=client-go", 5, "ns/op\t 1000 reads/s") +
	runs("WithoutImpl", 5, "ns/op")

// runs are ten lines of results around a value.
func runs(name string, value float64, rest string) string {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "Benchmark%s-2\t 1000\t %.4f %s\n", name, value*(0.955+0.01*float64(i)), rest)
	}
	return b.String()
}

// measured is raw as the section of a layer.
func measured(t *testing.T) section { return sectionOf(t, "indexer", raw) }

func sectionOf(t *testing.T, layer, raw string) section {
	t.Helper()
	file := filepath.Join(t.TempDir(), "raw.txt")
	require.NoError(t, os.WriteFile(file, []byte(raw), 0o644))
	s, err := read(layer, file)
	require.NoError(t, err)
	return s
}

func TestRead_TakesMediansOfEachImplementation(t *testing.T) {
	s := measured(t)
	require.Equal(t, "some processor", s.machine)
	require.Len(t, s.workloads, 3, "what has no implementation is compared with nothing")
	get := s.workloads[0]
	require.Equal(t, "Get objects=10", get.name)
	require.Equal(t, []string{"glasswatch", "compat"}, get.variants(), "ours first")
	require.InDelta(t, 30e-9, versus.Amount(get.impls[ours][seconds]).Center, 1e-12)
	require.InDelta(t, 2, get.ratio(ours, theirs, seconds), 1e-9)
	require.InDelta(t, 0.5, get.ratio(ours, least, seconds), 1e-9)
	require.InDelta(t, 1, get.ratio("compat", theirs, allocs), 0)
	require.True(t, math.IsNaN(get.ratio(ours, "another", seconds)))
}

func TestResult_NamesWhatPlaysOneBenchmarkAndNoOther(t *testing.T) {
	var names []string
	for _, line := range []string{
		"goos: linux",
		"BenchmarkGet/objects=10/impl=client-go" + processors + "  \t 10\t 2.5e+06 ns/op",
		"BenchmarkGet/objects=100/impl=client-go" + processors + "\t 10\t\t 2000000 ns/op\t 3 reads/s",
		"BenchmarkGet(a+b)\t 10\t 2000000.5 ns/op",
		"BenchmarkGet: a line of a log",
	} {
		name, took, ok := result(line)
		if require.Equal(t, strings.Contains(line, "ns/op"), ok, line); ok {
			require.InDelta(t, 2e6, int64(took), 1e6, line)
			names = append(names, name)
		}
	}
	require.Equal(t, []string{"BenchmarkGet/objects=10/impl=client-go", "BenchmarkGet/objects=100/impl=client-go", "BenchmarkGet(a+b)"}, names)
	for _, name := range names {
		for _, other := range names {
			require.Equal(t, name == other, plays(pattern(name), other), "%s plays %s", pattern(name), other)
		}
	}
}

func TestOtherResults_StayWhereOnlySomeAreMeasuredAnew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "indexer.txt")
	left := func(anew string) int {
		lines, err := otherResults(file, regexp.MustCompile(anew))
		require.NoError(t, err)
		return len(lines)
	}
	require.Zero(t, left("Get"), "no file is no figures")
	require.NoError(t, os.WriteFile(file, []byte(raw), 0o644))
	all := strings.Count(raw, "\n")
	require.Equal(t, all, left("List"))
	require.Equal(t, all-30, left("impl=glasswatch"))
	require.Equal(t, all-40, left("Get"))
	require.Zero(t, left("."), "what the processes said of themselves goes with the last figure")
}

func TestTimeFor_IsTheSameForEachImplementation(t *testing.T) {
	b := bench{slowest: map[string]time.Duration{"BenchmarkList": 50 * time.Millisecond, "BenchmarkReplace": time.Second, "BenchmarkEvent": 1}}
	for name, want := range map[string]time.Duration{"List": 200, "Replace": 1000, "Get": 100, "Event": 500} {
		for _, impl := range []string{ours, theirs} {
			require.Equal(t, want*time.Millisecond, b.timeFor("Benchmark"+name+"/impl="+impl, 100*time.Millisecond), name)
		}
	}
}

// plays is what testing does with -bench: each part of the pattern must match a part of the name.
func plays(pattern, name string) bool {
	patterns, parts := strings.Split(pattern, "/"), strings.Split(name, "/")
	for i := range min(len(patterns), len(parts)) {
		if !regexp.MustCompile(patterns[i]).MatchString(parts[i]) {
			return false
		}
	}
	return true
}

func TestRatio_OfARateIsTheOtherWayRound(t *testing.T) {
	require.InDelta(t, 0.5, measured(t).workloads[2].ratio(ours, theirs, "reads/s"), 1e-9)
}

func TestRatio_OfNothingToNothingIsOne(t *testing.T) {
	none := sample(0, 0, 0)
	w := workload{impls: map[string]map[string]*benchmath.Sample{ours: {allocs: none}, theirs: {allocs: none}}}
	require.InDelta(t, 1, w.ratio(ours, theirs, allocs), 0)
}

func sample(values ...float64) *benchmath.Sample {
	return benchmath.NewSample(values, &benchmath.DefaultThresholds)
}

func pageOf(t *testing.T, sections ...section) string {
	t.Helper()
	return page(sections, time.Now())
}

func TestPage_ShowsLossesLikeWinsWithTheirIntervals(t *testing.T) {
	text := pageOf(t, measured(t))
	require.Contains(t, text, "| Get objects=10 | 2.0× (1.86–2.15) | 0 : 2 | 0 : 64 | 2.0× (1.86–2.15) |")
	require.Contains(t, text, "| Get objects=10, compat | **0.80× (0.75–0.86)** | 2 : 2 | 64 : 64 | 5.0× (4.66–5.36) |")
	require.Contains(t, text, "The floor: plain maps")
}

func TestPage_ShowsUnitsOfTheirOwn(t *testing.T) {
	text := pageOf(t, measured(t))
	require.Contains(t, text, "| Held | B/object | 120.0 : 240.0 : – | 2.0× |")
	require.Contains(t, text, "| Write | reads/s | 500.0 : 1.000k : – | **0.50×** |")
	require.NotContains(t, text, "| Held | 1.0×", "how long it took to find out what is held says nothing")
}

func TestPage_ADifferenceThatMayBeChanceIsNone(t *testing.T) {
	text := pageOf(t, sectionOf(t, "indexer", runs("Same/impl=glasswatch", 50, "ns/op")+runs("Same/impl=client-go", 50.5, "ns/op")))
	require.Contains(t, text, "| Same | ~ (0.94–1.08) |")
	few := "BenchmarkFew/impl=glasswatch-2\t 1\t 1 ns/op\nBenchmarkFew/impl=client-go-2\t 1\t 9 ns/op\n"
	require.Contains(t, pageOf(t, sectionOf(t, "indexer", few)), "| Few | n = 1 |", "a single run proves nothing")
}

func TestPage_AFloorThatIsBeatenIsNotCalledOne(t *testing.T) {
	beaten := runs("Get/impl=glasswatch", 40, "ns/op") + runs("Get/impl=client-go", 80, "ns/op") + runs("Get/impl=floor", 60, "ns/op")
	require.Contains(t, pageOf(t, sectionOf(t, "indexer", beaten)), "| bare: 0.67× (0.62–0.72) |")
	equal := runs("Get/impl=glasswatch", 60, "ns/op") + runs("Get/impl=client-go", 80, "ns/op") + runs("Get/impl=floor", 60.2, "ns/op")
	require.Contains(t, pageOf(t, sectionOf(t, "indexer", equal)), "| ~ (0.93–1.07) |", "who is level does not beat")
}

func TestPage_APercentileThatMayBeChanceIsLeftOut(t *testing.T) {
	text := pageOf(t, sectionOf(t, "sharedinformer",
		runs("Latency/quantile=p50/impl=glasswatch", 20, "ns/op")+runs("Latency/quantile=p50/impl=client-go", 40, "ns/op")+
			runs("Latency/quantile=p99/impl=glasswatch", 90, "ns/op")+runs("Latency/quantile=p99/impl=client-go", 90.5, "ns/op")))
	require.Contains(t, text, "| Latency quantile=p50 | 2.0×")
	require.NotContains(t, text, "p99")
}

func TestPage_RivalsStandBesideUsWithWhatTheyOfferMore(t *testing.T) {
	text := pageOf(t, sectionOf(t, rivals, runs("AddGetDone/impl=glasswatch", 10, "ns/op\t 0 allocs/op")+
		runs("AddGetDone/impl=controller-runtime", 200, "ns/op\t 3 allocs/op")+
		runs("Iterate/impl=glasswatch", 10, "ns/op\t 0 allocs/op")+runs("Iterate/impl=statedb", 5, "ns/op\t 0 allocs/op")))
	require.Contains(t, text, "| controller-runtime | AddGetDone | 20× (19–21) | 0 : 3 |")
	require.Contains(t, text, "| statedb | Iterate | **0.50× (0.47–0.54)** | 0 : 0 |")
	require.Contains(t, text, "- statedb has transactions")
}

func TestPage_SaysWhatLookingOnCosts(t *testing.T) {
	text := pageOf(t, sectionOf(t, lens, runs("Event/from=a/impl=none", 100, "ns/op\t 100 cpu-ns/op\t 3 allocs/op")+
		runs("Event/from=a/impl=hub", 101, "ns/op\t 100.5 cpu-ns/op\t 4 allocs/op")+
		runs("Event/from=a/impl=reader", 200, "ns/op\t 80 cpu-ns/op\t 5 allocs/op")+
		runs("Event/from=b/impl=none", 100, "ns/op\t 100 cpu-ns/op")+
		runs("Event/from=b/impl=hub", 100, "ns/op\t 200 cpu-ns/op")+
		runs("Event/from=b/impl=reader", 100, "ns/op\t 106 cpu-ns/op")+
		runs("Event/from=c/impl=none", 100, "ns/op\t 100 cpu-ns/op")+
		runs("Event/from=c/impl=hub", 100, "ns/op\t 100 cpu-ns/op")))
	require.Contains(t, text, "at least 0.95× with a reader")
	require.Contains(t, text, "misses its goals here: Event from=a with hub; Event from=b with hub; Event from=b with reader.")
	for _, row := range []string{
		"| Event from=a | hub | ~ (0.92–1.06) | **1.00×** | 4 : 3 | **missed** |", // benchstat can tell it
		"| Event from=a | reader | **0.50× (0.47–0.54)** | 1.2× | 5 : 3 | met |",
		"| Event from=b | hub | ~ (0.93–1.07) | **0.50×** | – | **missed** |",
		"| Event from=b | reader | ~ (0.93–1.07) | **0.94×** | – | **missed** |",
		"| Event from=c | hub | ~ (0.93–1.07) | ~ (1.00–1.00) | – | met |",
	} {
		require.Contains(t, text, row)
	}
}

func TestBars_AreOfAllThatIsCompared(t *testing.T) {
	require.Equal(t, []string{"Get objects=10", "Get objects=10, compat", "Held, B/object", "Write", "Write, reads/s"}, names(measured(t).bars()))
}

func names(bars []bar) (all []string) {
	for _, b := range bars {
		all = append(all, b.name)
	}
	return all
}

func TestChart_IsDrawn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chart.svg")
	require.NoError(t, chart(measured(t), file))
	drawn, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(drawn), "<svg")
}

func TestGoals_AreMetIfTheLowerEndMeetsThem(t *testing.T) {
	all := ofLayer("indexer",
		faster("Get objects=10", 1.8), faster("Get objects=10", 1.9), faster("Get objects=10", 2.5), allocating("Get objects=10", 0),
		better("Held", held, 1/0.6), better("Write", "reads/s", 1), than("compat", faster("Get objects=10", 2)))
	text, err := goalsPage(all, []section{measured(t)}, layers, time.Now())
	require.NoError(t, err)
	for _, row := range []string{
		"| Get objects=10 | time | at least 1.8× | 2.0× (1.86–2.15) | met |",
		"| Get objects=10 | time | at least 1.9× | 2.0× (1.86–2.15) | **missed** |",
		"| Get objects=10 | time | at least 2.5× | 2.0× (1.86–2.15) | **missed** |",
		"| Get objects=10 | allocs/op | at most 0 | 0 | met |",
		"| Held | B/object | at least 1.7× | 2.0× | met |",
		"| Write | reads/s | at least 1.0× | 0.50× | **missed** |",
		"| Get objects=10, beside compat | time | at least 2.0× | 2.5× (2.33–2.68) | met |",
	} {
		require.Contains(t, text, row)
	}
	few := sectionOf(t, "indexer", "BenchmarkFew/impl=glasswatch-2\t 1\t 1 ns/op\nBenchmarkFew/impl=client-go-2\t 1\t 9 ns/op\n")
	text, err = goalsPage(ofLayer("indexer", faster("Few", 2)), []section{few}, layers, time.Now())
	require.NoError(t, err)
	require.Contains(t, text, "| n = 1 | too few runs |")
}

func TestGoals_OfABenchmarkThatIsGoneAreAnError(t *testing.T) {
	for _, gone := range []goal{
		faster("Got objects=10", 2), allocating("Held", 0), better("Get objects=10", "B/thing", 2),
	} {
		text, err := goalsPage(ofLayer("indexer", gone), []section{measured(t)}, []string{"indexer"}, time.Now())
		require.ErrorContains(t, err, gone.workload)
		require.Contains(t, text, "not measured")
	}
	pop := ofLayer("deltafifo", faster("Pop", 2))
	_, err := goalsPage(pop, nil, []string{"deltafifo"}, time.Now())
	require.ErrorContains(t, err, `"Pop" in deltafifo`)
	_, err = goalsPage(pop, nil, []string{"indexer"}, time.Now())
	require.NoError(t, err, "nobody asked for that layer")
}

func TestGoals_AreMeasuredWithoutTheRest(t *testing.T) {
	require.True(t, isGoal("indexer", "BenchmarkGetByKey/objects=10000/impl=glasswatch"))
	require.True(t, isGoal("indexer", "BenchmarkGetByKey/objects=10000/impl=client-go"))
	require.True(t, isGoal(rivals, "BenchmarkGetByKey/impl=statedb"))
	require.False(t, isGoal("indexer", "BenchmarkGetByKey/objects=10000/impl=floor"))
	require.False(t, isGoal("indexer", "BenchmarkGetByKey/objects=100/impl=glasswatch"))
	require.False(t, isGoal("deltafifo", "BenchmarkGetByKey/objects=10000/impl=glasswatch"))
}

func TestGoals_AreOfKnownLayers(t *testing.T) {
	for _, g := range goals {
		require.Contains(t, layers, g.layer)
	}
}

func TestReport_MakesThePageFromWhatIsThere(t *testing.T) {
	out, figures := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(figures, "compat-workqueue.txt"), []byte(raw), 0o644))
	require.NoError(t, report("../../../..", figures, out, []string{"compat/workqueue"}, options{}))
	text, err := os.ReadFile(filepath.Join(out, "README.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), "## compat/workqueue\n\n![how many times better than client-go](compat-workqueue.svg)")
	require.FileExists(t, filepath.Join(out, "compat-workqueue.svg"))
	require.NoFileExists(t, filepath.Join(out, "goals.md"))
	table, err := os.ReadFile(filepath.Join(figures, "compat-workqueue.benchstat.txt"))
	require.NoError(t, err)
	require.Regexp(t, "│ +glasswatch +│ +client-go", string(table))
	require.NotContains(t, string(table), "WithoutImpl")
	require.Error(t, report("../../../..", figures, out, layers, options{goalsOnly: true}), "what goals are about was not measured")
	require.FileExists(t, filepath.Join(out, "goals.md"))
}

func TestReport_RefusesALayerThatIsNone(t *testing.T) {
	require.ErrorContains(t, report("../../../..", t.TempDir(), t.TempDir(), []string{"indexor"}, options{measure: true}), `no layer "indexor"`)
}
