package controllertest

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	only  = flag.String("controllertest.fault", "", "play only this plan of faults, as a failure prints it")
	all   = flag.Bool("controllertest.all", false, "play all plans of faults, whatever Scenario.Sample says")
	pairs = flag.Int("controllertest.pairs", 0, "after each fault alone, play so many random pairs of faults")
	seed  = flag.Uint64("controllertest.seed", 1, "which pairs, and which moves first")
	moves = flag.Int("controllertest.random", 1, "draw the moves of a scenario so many times")
	times = flag.Int("controllertest.times", 1, "play each plan so many times, and tell which of them do not always end alike")
	saved = flag.String("controllertest.session", "", "write the first finding to this file, for the lens: go run ./cmd/lens --session FILE")
)

// Run plays a scenario without faults, and then with each fault at each request where it makes sense. Each plan that breaks an oracle fails
// the test, with its story and the command that plays it again.
func Run(t *testing.T, s Scenario) {
	t.Helper()
	s.firstOnly = failfast()
	report := Explore(t, s)
	groups := grouped(report.Findings)
	for _, g := range groups {
		t.Error(g.text(t.Name(), len(s.Moves) > 0))
	}
	if *saved != "" && len(groups) > 0 {
		if err := os.WriteFile(*saved, groups[0][0].Session(), 0o644); err != nil {
			t.Error(err)
		}
	}
	for _, plan := range report.NotFired {
		t.Logf("did not come to pass: %s", plan)
	}
	for _, plan := range report.Unsteady {
		t.Logf("does not always end alike: %s", plan)
	}
	if *times > 1 {
		t.Logf("each plan %d times: %d of %d always ended alike", *times, report.Planned-len(report.Unsteady), report.Planned)
	}
	t.Log(report) // the last line of a test that fails
}

// failfast is go test's flag. A finding fails a test of Run, and so is enough; whoever calls Explore wants all of them.
func failfast() bool {
	f := flag.Lookup("test.failfast")
	return f != nil && f.Value.String() == "true"
}

// Explore is Run for those who want to look at the findings themselves. It fails the test only if the scenario cannot be played.
func Explore(t *testing.T, s Scenario) Report {
	t.Helper()
	if err := s.validate(); err != nil {
		t.Fatal(err)
	}
	if s.Faults == nil {
		s.Faults = AllFaults()
	}
	if s.Quiet == 0 {
		s.Quiet = 30 * time.Second
	}
	if s.Limit == 0 {
		s.Limit = 2000
	}
	for oracle, why := range s.Without {
		t.Logf("without the oracle %q: %s", oracle, why)
	}
	for what, why := range s.Ignore {
		t.Logf("not compared: %s: %s", what, why)
	}
	defer withGlobals()()
	definitions, err := definitionsOf(s.CRDs)
	if err != nil {
		t.Fatalf("CRDs: %v", err)
	}
	s.definitions = definitions
	if len(s.Moves) == 0 {
		return s.explore(t)
	}
	var report Report
	for n := range max(*moves, 1) {
		if s.firstOnly && len(report.Findings) > 0 {
			break
		}
		drawn := s.drawn(*seed + uint64(n))
		t.Logf("moves of -controllertest.seed=%d: %s", drawn.seed, drawn.namesFrom(len(s.Steps)))
		report.add(drawn.explore(t))
	}
	return report
}

// explore plays one sequence of steps.
func (s *Scenario) explore(t *testing.T) Report {
	t.Helper()
	began := time.Now()
	reference, chance, err := s.reference(t)
	if err != nil {
		t.Fatal(err)
	}
	s.kinds = reference.kinds
	legal, findings := s.legalEnds(t, reference, chance)
	plans := s.plans(reference)
	if len(plans) == 0 && !s.isTiming(*only) {
		t.Fatalf("no plan of faults to play: the play without faults had room for %d, -controllertest.fault is %q", len(s.single(reference)), *only)
	}
	if s.firstOnly { // neighbours are much alike, so in a mixed order a finding comes sooner
		rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(plans), func(i, k int) { plans[i], plans[k] = plans[k], plans[i] })
	}
	report := Report{Planned: len(plans), Findings: findings}
	for _, write := range reference.writes {
		if write.request.who == program {
			report.Writes++
		}
	}
	var mu sync.Mutex // protects the report and what follows
	hit := map[request]bool{}
	matched := map[string]bool{}
	reference.addMatched(matched)
	inParallel(len(plans), func(n int) {
		mu.Lock()
		done := len(report.Findings) > 0 && s.firstOnly
		mu.Unlock()
		if done {
			return
		}
		t.Run(describe(plans[n]), func(t *testing.T) {
			var p played
			var finding Finding
			ends := map[string]int{}
			for range max(*times, 1) {
				p = s.play(t, plans[n], limitOf(reference))
				last := s.judge(plans[n], reference, p, legal, chance)
				ends[endOf(p.fired == len(plans[n]), last)]++
				if finding.Broken == nil {
					finding = last
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if p.fired == len(plans[n]) {
				report.Fired++
				for _, fault := range plans[n] {
					hit[fault.at] = true
				}
			} else {
				report.NotFired = append(report.NotFired, describe(plans[n]))
			}
			if len(ends) > 1 {
				report.Unsteady = append(report.Unsteady, fmt.Sprintf("%s: %s", describe(plans[n]), timesOf(ends)))
			}
			p.addMatched(matched)
			if finding.Broken != nil {
				finding.Faults, finding.Seed = describe(plans[n]), s.seed
				report.Findings = append(report.Findings, finding)
			}
		})
	})
	report.Requests = len(hit)
	slices.SortFunc(report.Findings, func(a, b Finding) int { return strings.Compare(a.Faults, b.Faults) })
	slices.Sort(report.NotFired)
	slices.Sort(report.Unsteady)
	report.Took = time.Since(began)
	for what := range s.Ignore {
		allPlayed := len(plans) >= len(s.single(reference)) && report.Fired+len(report.NotFired) == len(plans)
		if allPlayed && !matched[what] && len(s.Moves) == 0 { // other moves may have it
			t.Errorf("Scenario.Ignore has %q, which was not there in any play", what)
		}
	}
	return report
}

// reference plays without faults, twice. What differs between the two is left to chance, and is not compared.
func (s *Scenario) reference(t *testing.T) (reference played, chance map[string]bool, err error) {
	t.Helper()
	reference, again := s.play(t, nil, s.Limit), s.play(t, nil, s.Limit)
	for _, p := range []played{reference, again} {
		if len(p.problems) > 0 {
			var texts []string
			concerned := map[string]bool{}
			for _, found := range p.problems {
				texts = append(texts, fmt.Sprintf("%s: %s", found.oracle, found.text))
				concerned[found.object] = true
			}
			return played{}, nil, fmt.Errorf("without faults already: %s\n%s", strings.Join(texts, "\n  "), p.story(concerned))
		}
	}
	for _, text := range reference.gaveUp {
		t.Logf("not a finding: %s", text)
	}
	chance = map[string]bool{}
	values := told{}
	for _, d := range reference.differences(again) {
		chance[d.path] = true
		_, value, _ := strings.Cut(d.path, ": ")
		values.add(value)
	}
	values.each(10, func(value string) {
		t.Logf("left to chance, so not compared: two plays without faults differ at %s", value)
	})
	return reference, chance, nil
}

// limitOf is how many writes a play may have before it counts as one that never ends.
func limitOf(reference played) int { return 200 + 10*len(reference.writes) }

// addMatched adds what of Scenario.Ignore was there.
func (p played) addMatched(matched map[string]bool) {
	for _, m := range p.moments {
		maps.Copy(matched, m.matched)
	}
}

// plans are each fault alone, or a sample of them, then random pairs; or the one that the flag names.
func (s *Scenario) plans(reference played) [][]planned {
	single := s.single(reference)
	pairs := randomPairs(single)
	if *only != "" {
		return named(*only, single)
	}
	if s.Sample > 0 && !*all {
		single = sample(single, s.Sample)
	}
	return slices.Concat(single, pairs)
}

// named finds the faults of a plan by their names.
func named(plan string, single [][]planned) [][]planned {
	var faults []planned
	for name := range strings.SplitSeq(plan, " + ") {
		n := slices.IndexFunc(single, func(p []planned) bool { return describe(p) == name })
		if n < 0 {
			return nil
		}
		faults = append(faults, single[n]...)
	}
	return [][]planned{faults}
}

// single are all plans of one fault.
func (s *Scenario) single(reference played) (plans [][]planned) {
	for _, write := range reference.writes {
		if !write.changed {
			continue
		}
		for _, fault := range s.Faults {
			if fault.possible(write.request, reference.watched, reference.leases) {
				plans = append(plans, []planned{{fault, write.request}})
			}
		}
	}
	return plans
}

// randomPairs are at most as many as the flag wants. Their faults are at different requests.
func randomPairs(single [][]planned) (plans [][]planned) {
	random := rand.New(rand.NewPCG(*seed, 0))
	if len(single) == 0 {
		return nil
	}
	for range *pairs {
		a, b := single[random.IntN(len(single))][0], single[random.IntN(len(single))][0]
		if a.at != b.at {
			plans = append(plans, []planned{a, b})
		}
	}
	return plans
}

// sample returns n of the plans, spread evenly.
func sample(plans [][]planned, n int) (some [][]planned) {
	for i := range min(n, len(plans)) {
		some = append(some, plans[i*len(plans)/min(n, len(plans))])
	}
	return some
}

// inParallel calls do with each number below n, on all processors.
func inParallel(n int, do func(int)) {
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range goruntime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range numbers {
				do(i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
}

// judge asks the oracles.
func (s *Scenario) judge(plan []planned, reference, p played, legal []legalEnd, chance map[string]bool) Finding {
	problems := p.problems
	concerned := map[string]bool{}
	for _, fault := range plan {
		concerned[fault.at.object] = true
	}
	ask := func(oracle Oracle, format string, args ...any) {
		if s.asks(oracle) {
			problems = append(problems, problem{oracle: oracle, text: fmt.Sprintf(format, args...)})
		}
	}
	if !p.stopped { // it has not come to its end
		for _, d := range reference.unlike(legal, chance, p) {
			ask(SameState, "%s", d)
			concerned[objectOf(d.path)] = true
		}
	}
	if p.late > reference.late+1 {
		ask(StaysQuiet, "%d tries to write in %v after the end, %d without the fault", p.late, lookout, reference.late)
	}
	return p.finding(problems, concerned)
}

// finding tells of problems, and of what happened around the objects that they and concerned name. Without problems it is empty.
func (p played) finding(problems []problem, concerned map[string]bool) (finding Finding) {
	broken := map[Oracle]bool{}
	for _, found := range problems {
		if !broken[found.oracle] { // what follows from the first problem would make the story long
			concerned[found.object] = true
		}
		broken[found.oracle] = true
		if len(finding.Problems) < enough {
			finding.Problems = append(finding.Problems, string(found.oracle)+": "+found.text)
		}
	}
	if more := len(problems) - len(finding.Problems) + p.dropped; more > 0 {
		finding.Problems = append(finding.Problems, fmt.Sprintf("… and %d more", more))
	}
	if len(problems) > 0 {
		finding.Broken = slices.Sorted(maps.Keys(broken))
		finding.Story, finding.log, finding.made = p.story(concerned), p.log, p.made
		finding.essence = essenceOf(problems, p.made)
	}
	return finding
}
