package main

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const raw = `goos: linux
cpu: some processor
BenchmarkGet/objects=10/impl=glasswatch-2      	1000	 20.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkGet/objects=10/impl=glasswatch-2      	1000	 30.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkGet/objects=10/impl=glasswatch-2      	1000	 90.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkGet/objects=10/impl=client-go-2       	1000	 60.0 ns/op	 64 B/op	 2 allocs/op
BenchmarkGet/objects=10/impl=compat-2          	1000	 75.0 ns/op	 64 B/op	 2 allocs/op
BenchmarkGet/objects=10/impl=floor-2           	1000	 15.0 ns/op	 0 B/op	 0 allocs/op
BenchmarkHeld/impl=glasswatch-2                	1	 5.0 ns/op	 120 B/object
BenchmarkHeld/impl=client-go-2                 	1	 5.0 ns/op	 240 B/object
BenchmarkWrite/impl=glasswatch-2               	1	 5.0 ns/op	 500 reads/s
BenchmarkWrite/impl=client-go-2                	1	 5.0 ns/op	 1000 reads/s
BenchmarkWithoutImpl-2                         	1	 5.0 ns/op
`

// measured is raw as the section of a layer.
func measured(t *testing.T) section {
	t.Helper()
	file := filepath.Join(t.TempDir(), "indexer.txt")
	require.NoError(t, os.WriteFile(file, []byte(raw), 0o644))
	s, err := read("indexer", file)
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
	require.InDelta(t, 30e-9, get.impls[ours][seconds], 1e-12)
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
	require.Equal(t, all-5, left("impl=glasswatch"))
	require.Equal(t, all-6, left("Get"))
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
	w := workload{impls: map[string]map[string]float64{ours: {allocs: 0}, theirs: {allocs: 0}}}
	require.InDelta(t, 1, w.ratio(ours, theirs, allocs), 0)
}

func TestPage_ShowsLossesLikeWins(t *testing.T) {
	text, err := page(nil, []section{measured(t)}, nil)
	require.NoError(t, err)
	require.Contains(t, text, "| Get objects=10 | 2.0× | 0 : 2 | 0 : 64 | 2.0× |")
	require.Contains(t, text, "| Get objects=10, compat | **0.80×** | 2 : 2 | 64 : 64 | 5.0× |")
	require.Contains(t, text, "[raw figures](indexer.txt)")
	require.Contains(t, text, "[Laid out by benchstat](indexer.benchstat.txt)")
	require.Contains(t, text, "The floor: plain maps")
}

func TestPage_ShowsUnitsOfTheirOwn(t *testing.T) {
	text, err := page(nil, []section{measured(t)}, nil)
	require.NoError(t, err)
	require.Contains(t, text, "| Held | B/object | 120.0 : 240.0 : – | 2.0× |")
	require.Contains(t, text, "| Write | reads/s | 500.0 : 1.000k : – | **0.50×** |")
	require.NotContains(t, text, "| Held | 1.0×", "how long it took to find out what is held says nothing")
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

func TestGoals_SayWhatIsReachedAndWhatIsMissed(t *testing.T) {
	var b strings.Builder
	all := ofLayer("indexer",
		faster("Get objects=10", 2), faster("Get objects=10", 2.5), allocating("Get objects=10", 0),
		ofFloor("Get objects=10", 1.5), better("Held", held, 1/0.6), better("Write", "reads/s", 1),
		ofFacade(faster("Get objects=10", 1.4)))
	require.NoError(t, writeGoals(&b, all, []section{measured(t)}, layers))
	for _, row := range []string{
		"| Get objects=10 | time | at least 2.0× | 2.0× | met |",
		"| Get objects=10 | time | at least 2.5× | 2.0× | **missed** |",
		"| Get objects=10 | allocs/op | at most 0 | 0 | met |",
		"| Get objects=10 | time | at most 1.50× the floor | 2.00× the floor | **missed** |",
		"| Held | B/object | at least 1.7× | 2.0× | met |",
		"| Write | reads/s | at least 1.0× | 0.50× | **missed** |",
		"| Get objects=10, compat | time | at least 1.4× | 0.80× | **missed** |",
	} {
		require.Contains(t, b.String(), row)
	}
}

func TestGoals_OfABenchmarkThatIsGoneAreAnError(t *testing.T) {
	for _, gone := range []goal{
		faster("Got objects=10", 2), allocating("Held", 0), better("Get objects=10", "B/thing", 2), ofFloor("Held", 2),
	} {
		var b strings.Builder
		err := writeGoals(&b, ofLayer("indexer", gone), []section{measured(t)}, []string{"indexer"})
		require.ErrorContains(t, err, gone.workload)
		require.Contains(t, b.String(), "not measured")
	}
	var b strings.Builder
	require.ErrorContains(t, writeGoals(&b, ofLayer("deltafifo", faster("Pop", 2)), nil, []string{"deltafifo"}), `"Pop" in deltafifo`)
	require.NoError(t, writeGoals(&b, ofLayer("deltafifo", faster("Pop", 2)), nil, []string{"indexer"}), "nobody asked for that layer")
}

func TestGoals_AreOfKnownLayers(t *testing.T) {
	for _, g := range goals {
		require.Contains(t, layers, g.layer)
	}
}

func TestReport_MakesThePageFromWhatIsThere(t *testing.T) {
	out := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(out, "compat-workqueue.txt"), []byte(raw), 0o644))
	require.NoError(t, report("../../..", out, []string{"compat/workqueue"}, options{}))
	text, err := os.ReadFile(filepath.Join(out, "README.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), "## compat/workqueue\n\n![how many times better than client-go](compat-workqueue.svg)")
	require.FileExists(t, filepath.Join(out, "compat-workqueue.svg"))
	table, err := os.ReadFile(filepath.Join(out, "compat-workqueue.benchstat.txt"))
	require.NoError(t, err)
	require.Regexp(t, "│ +glasswatch +│ +client-go", string(table))
	require.NotContains(t, string(table), "WithoutImpl")
	require.Error(t, report("../../..", out, layers, options{}), "the layers that goals are about were not measured")
}

func TestReport_RefusesALayerThatIsNone(t *testing.T) {
	require.ErrorContains(t, report("../../..", t.TempDir(), []string{"indexor"}, options{measure: true}), `no layer "indexor"`)
}
