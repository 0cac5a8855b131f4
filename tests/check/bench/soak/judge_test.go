package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// steady are samples of a soak in which nothing grows, with the noise of a busy machine; each may be changed.
func steady(change func(n int, s *sample)) []sample {
	random := rand.New(rand.NewPCG(1, 2))
	var samples []sample
	for n := range 240 {
		s := sample{At: time.Duration(n+1) * time.Second, Heap: 90<<20 + random.Uint64N(20<<20), Goroutines: 60 + random.IntN(9),
			LagHalf: 2*time.Millisecond + rand.N(3*time.Millisecond), Delivered: 2000, Backlog: 700}
		if n%collectEvery == 0 {
			s.Live = 60<<20 + random.Uint64N(3<<20)
			if n%40 == 0 {
				s.Live += 30 << 20 // a relist was under way
			}
		}
		if change != nil {
			change(n, &s)
		}
		samples = append(samples, s)
	}
	return samples
}

func TestJudge_IsContentWithNoise(t *testing.T) {
	if complaints := judge(steady(nil), 10_000); len(complaints) > 0 {
		t.Fatal(complaints)
	}
}

func TestJudge_GrowthOfTheFirstHalfIsWarmingUp(t *testing.T) {
	complaints := judge(steady(func(n int, s *sample) {
		if s.Live > 0 && n < 120 {
			s.Live -= uint64(120-n) << 18
		}
	}), 10_000)
	if len(complaints) > 0 {
		t.Fatal(complaints)
	}
}

func TestJudge_NamesWhatGrows(t *testing.T) {
	for want, change := range map[string]func(n int, s *sample){
		"the heap after a garbage collection grows: by 1": func(n int, s *sample) {
			if s.Live > 0 {
				s.Live += uint64(n) * 100 << 10 // 100 KiB a second
			}
		},
		"the number of goroutines grows: by": func(n int, s *sample) { s.Goroutines += n / 5 },
		"the lag grows: by":                  func(n int, s *sample) { s.LagHalf += time.Duration(n) * 20 * time.Millisecond },
		"10002 changes wait for the handler that folds, at 1m41s": func(n int, s *sample) {
			if n == 100 {
				s.Backlog = 10_002
			}
		},
		"the lag was measured 0 times in the second half": func(n int, s *sample) { s.Delivered = 0 },
	} {
		complaints := judge(steady(change), 10_000)
		if len(complaints) != 1 || !strings.HasPrefix(complaints[0], want) {
			t.Errorf("want one complaint, %q, got %q", want, complaints)
		}
	}
}

func TestJudgeLeft_CountsWhatDoesNotEnd(t *testing.T) {
	if complaints := judgeLeft(goroutines()); complaints != nil {
		t.Fatal(complaints)
	}
}

func TestSlope_IsThatOfTheLineThroughMostPoints(t *testing.T) {
	var points []point
	for n := range 20 {
		points = append(points, point{float64(n), 3*float64(n) + 7})
	}
	points[4].value, points[11].value = 900, -900
	if got := slope(points); got != 3 {
		t.Fatalf("want 3, got %v", got)
	}
	if rise, middle := growth(points[:1]); rise != 0 || middle != 0 {
		t.Fatal("one point is no line")
	}
}

func TestOutput_EachPictureAndEachSampleIsThere(t *testing.T) {
	folder := t.TempDir()
	samples := steady(nil)
	if err := writeAll(folder, samples); err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join(folder, "samples.csv"))
	if err != nil || strings.Count(string(table), "\n") != len(samples)+1 {
		t.Fatalf("%v, %d lines", err, strings.Count(string(table), "\n"))
	}
	for _, picture := range []string{"heap", "goroutines", "rate", "lag", "waiting"} {
		svg, err := os.ReadFile(filepath.Join(folder, picture+".svg"))
		if err != nil || !strings.Contains(string(svg), "<svg") {
			t.Fatalf("%s: %v", picture, err)
		}
	}
	if got := summary(samples); !strings.Contains(got, "live heap 6") {
		t.Fatal(got)
	}
}

func TestOptions_NameWhatIsWrong(t *testing.T) {
	good := options{lasts: time.Minute, objects: 100, rate: 100}
	if err := good.validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(o *options){
		"--for": func(o *options) { o.lasts = 0 }, "--objects": func(o *options) { o.objects = 1 },
		"--rate": func(o *options) { o.rate = 0 }, "--fault-every": func(o *options) { o.faultEvery = -1 },
	} {
		bad := good
		change(&bad)
		if err := bad.validate(); err == nil || !strings.HasPrefix(err.Error(), want+": want") {
			t.Errorf("%s: %v", want, err)
		}
	}
}
