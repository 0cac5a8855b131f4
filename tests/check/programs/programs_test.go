package main

import (
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// built compiles the programs if that is a matter of seconds, and skips the test otherwise.
func built(t *testing.T) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "programs")
	out, err := exec.Command("go", "run", "./patch", "-if-cached", "-o", binary).CombinedOutput()
	// go run prints the exit status of the program, and has another.
	if err != nil && strings.Contains(string(out), "exit status 3") {
		t.Skipf("the programs would take many minutes to compile: %s", out)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

// A small story takes twelve seconds a side; make programs plays the large ones.
func TestSmallStory_IsPlayedByUpstreamsProgramsOnEachSidesInformers(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three control planes")
	}
	binary, results := built(t), map[side][]result{}
	for _, of := range []side{clientGo, unshared, shared} {
		s := &story{binary: binary, load: load{Deployments: 2, Replicas: 5}, nodes: 5, steps: steps[:4]}
		if of == shared {
			s.steps = steps
		}
		played, err := s.play(t.Context(), of) // fails if an informer is not that side's
		if err != nil {
			t.Fatalf("%s: %v", of, err)
		}
		results[of] = played
		t.Logf("%s: %v", of, played[0].Seconds)
	}
	for n, name := range []string{manager, scheduler} {
		for _, of := range []side{unshared, shared} {
			if lines := differences(ofInformers(results[clientGo][n].Families),
				ofInformers(results[of][n].Families)); len(lines) > 0 {
				t.Errorf("%s on %s: /metrics differs from client-go's:\n%s", name, of, strings.Join(lines, "\n"))
			}
		}
	}
}

func TestFamilies_DifferInNameTypeOrLabels(t *testing.T) {
	base := familiesOf("# HELP a x{y=\"z\"}\n# TYPE a counter\na{l=\"1\",k=\"x\\\"y\"} 1\na{m=\"1\"} 2\n" +
		"# TYPE b histogram\nb_bucket{le=\"1\"} 1\nb_sum 3\n")
	want := map[string]string{"a": "counter{k,l,m}", "b": "histogram{le}"}
	if !maps.Equal(base, want) {
		t.Fatalf("want %v, got %v", want, base)
	}
	if lines := differences(base, base); len(lines) > 0 {
		t.Errorf("it differs from itself: %q", lines)
	}
	other := map[string]string{"a": "gauge{k,l,m}", "c": "counter{}"}
	got := strings.Join(differences(base, other), "\n")
	want3 := "`a` is gauge{k,l,m}, not counter{k,l,m}\n`b` histogram{le} is missing\n`c` counter{} is not client-go's"
	if got != want3 {
		t.Errorf("want\n%s\ngot\n%s", want3, got)
	}
}

func TestLook_TellsInformersOfTheWrongSide(t *testing.T) {
	good := map[side]look{
		clientGo: {Ways: map[string]int{"client-go": 3}, Synced: 3, ClientGoReflectors: 3},
		shared:   {Ways: map[string]int{"install": 2, "closures": 1}, Synced: 3},
	}
	for of, l := range good {
		if err := l.check(of); err != nil {
			t.Errorf("%s: %v", of, err)
		}
	}
	for what, bad := range map[string]look{
		"none":                       {},
		"one that does not sync":     {Ways: map[string]int{"install": 3}, Synced: 2},
		"one of client-go":           {Ways: map[string]int{"install": 2, "client-go": 1}, Synced: 3},
		"one that the hook missed":   {Ways: map[string]int{"install": 3}, Synced: 3, ClientGoReflectors: 1},
		"all those of the other one": good[clientGo],
	} {
		if bad.check(shared) == nil {
			t.Errorf("informers of ours, and %s: no error", what)
		}
	}
	if good[shared].check(clientGo) == nil {
		t.Error("ours are taken for client-go's")
	}
}

func TestRatio_IsOfTheSameRound(t *testing.T) {
	c := &campaign{}
	for round, of := range []struct{ base, ours float64 }{{10, 5}, {100, 60}, {20, 8}} {
		for s, v := range map[side]float64{clientGo: of.base, shared: of.ours} {
			c.results = append(c.results, result{Program: manager, Work: "w", Side: s, Round: round,
				Live: int64(v * mib)})
		}
	}
	got := c.ratio(manager, "w", shared, live)
	if want := (spread{0.5, 0.4, 0.6, 3}); got != want {
		t.Errorf("want %v, got %v", want, got)
	}
	for most, want := range map[float64]string{0.6: "met", 0.5: "met by the median only", 0.49: "**missed**"} {
		if v := verdict(got, most); v != want {
			t.Errorf("at most %v: want %q, got %q", most, want, v)
		}
	}
}
