package controllertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// When users act again before all has settled, more than one end is right. A program may be done with the first step when the second one
// comes, or may never see what was there in between, and a fault decides which. So the steps are played without faults at other times, too:
//
//	as written     apply ── 5 s ── patch ─────────── settle
//	settled        apply ── settle ── patch ──────── settle     the program has seen all of the first step
//	away        ✗  apply ── 5 s ── patch  ✓ start ── settle     it has seen nothing of it
//
// Each end of these is legal. The program is never sent away in the middle of its work: that would be a fault.

// timing says when a step comes that follows another one without Settle between them.
type timing int

const (
	asWritten timing = iota
	afterSettling
	whileAway
)

// timings has the timing of each such step by its index. Others are as written.
type timings map[int]timing

func (t timings) String() string {
	var parts []string
	for _, n := range slices.Sorted(maps.Keys(t)) {
		switch t[n] {
		case afterSettling:
			parts = append(parts, fmt.Sprintf("step %d comes when all has settled", n+1))
		case whileAway:
			parts = append(parts, fmt.Sprintf("the program starts again after step %d", n+1))
		}
	}
	return strings.Join(parts, ", ")
}

func (s Step) acts() bool { return !s.settle && s.lasts == 0 }

// gaps returns the index of each step that follows another one without Settle between them, and of the step that it follows.
func gaps(steps []Step) (after map[int]int) {
	after = map[int]int{}
	last := -1
	for n, step := range steps {
		switch {
		case step.settle:
			last = -1
		case step.acts():
			if last >= 0 {
				after[n] = last
			}
			last = n
		}
	}
	return after
}

// mostTimings bounds the plays of other timings. It allows all combinations for three steps.
const mostTimings = 27

// otherTimings are those of the steps but the written one: all combinations, or if these are too many, each step alone, and all alike.
func otherTimings(steps []Step) (all []timings) {
	after := gaps(steps)
	indices := slices.Sorted(maps.Keys(after))
	all = []timings{{}}
	for _, n := range indices {
		var more []timings
		for _, before := range all {
			for _, when := range []timing{asWritten, afterSettling, whileAway} {
				extended := maps.Clone(before)
				extended[n] = when
				more = append(more, extended)
			}
		}
		all = more
		if len(all) > mostTimings {
			break
		}
	}
	if len(all) > mostTimings {
		all = someTimings(indices)
	}
	return slices.DeleteFunc(all, func(t timings) bool { return t.String() == "" || !t.possible(after) })
}

func someTimings(indices []int) (some []timings) {
	for _, when := range []timing{afterSettling, whileAway} {
		together := timings{}
		for _, n := range indices {
			together[n] = when
			some = append(some, timings{n: when})
		}
		some = append(some, together)
	}
	return some
}

// possible tells whether the program is sent away only when all has settled.
func (t timings) possible(after map[int]int) bool {
	for n, when := range t {
		_, follows := after[after[n]]
		if when == whileAway && follows && t[after[n]] == asWritten {
			return false
		}
	}
	return true
}

// awayFrom returns the steps before which the program is sent away, if it is not yet, and those after which it comes back.
func (t timings) awayFrom(after map[int]int) (leaves, comes map[int]bool) {
	leaves, comes = map[int]bool{}, map[int]bool{}
	for n, when := range t {
		if when != whileAway {
			continue
		}
		if t[after[n]] != whileAway {
			leaves[after[n]] = true
		}
		comes[n] = true
	}
	for n, when := range t {
		if when == whileAway {
			delete(comes, after[n]) // it stays away
		}
	}
	return leaves, comes
}

// legalEnd is a play at other times.
type legalEnd struct {
	played
	chance map[string]bool // paths that are left to chance
}

// legalEnds plays the other timings without faults, each twice, as the reference is. An invariant that is broken there is a finding. What
// else goes wrong is told, and is no legal end.
func (s *Scenario) legalEnds(t *testing.T, reference played, chance map[string]bool) (legal []legalEnd, findings []Finding) {
	t.Helper()
	before := map[string]bool{} // what has been told of another timing
	for _, other := range otherTimings(s.Steps) {
		p, again := s.playAt(t, nil, s.Limit, other), s.playAt(t, nil, s.Limit, other)
		if finding, broken := invariantBroken(p, again); broken {
			if *only == "" || *only == other.String() {
				finding.Faults, finding.Seed = other.String(), s.seed
				findings = append(findings, finding)
			}
			continue
		}
		if wrong := slices.Concat(p.problems, again.problems); len(wrong) > 0 {
			t.Logf("not legal, though without a fault: if %s: %s: %s", other, wrong[0].oracle, wrong[0].text)
			continue
		}
		end := legalEnd{p, maps.Clone(chance)}
		for _, d := range p.differences(again) {
			end.chance[d.path] = true
		}
		legal = append(legal, end)
		var ends told
		concerned := map[string]bool{}
		for _, d := range reference.unlike(nil, end.chance, p) {
			concerned[objectOf(d.path)] = true
			_, text, _ := strings.Cut(d.String(), ": ") // without the moment: most differences stay to the end
			if !before[text] {
				ends.add(text)
			}
		}
		ends.each(3, func(text string) {
			t.Logf("legal, too, if %s: %s", other, text)
			before[text] = true
		})
		if *only == other.String() {
			t.Logf("%s:\n%s", other, p.story(concerned))
		}
	}
	return legal, findings
}

// invariantBroken is a finding of one of the plays.
func invariantBroken(plays ...played) (Finding, bool) {
	for _, p := range plays {
		if slices.ContainsFunc(p.problems, func(found problem) bool { return found.oracle == Invariant }) {
			return p.finding(p.problems, map[string]bool{}), true
		}
	}
	return Finding{}, false
}

// isTiming tells whether the flag that names a plan names another timing of the steps.
func (s *Scenario) isTiming(plan string) bool {
	return slices.ContainsFunc(otherTimings(s.Steps), func(t timings) bool { return t.String() == plan })
}

// without leaves out differences in what is left to chance.
func without(chance map[string]bool, all []difference) []difference {
	return slices.DeleteFunc(all, func(d difference) bool { return chance[d.path] })
}

// unlike compares a play with the play without faults, at each moment with the legal state that is nearest.
func (p played) unlike(legal []legalEnd, chance map[string]bool, other played) (all []difference) {
	for n := range other.moments {
		nearest, want := without(chance, p.differencesAt(n, other)), p
		for _, l := range legal {
			differences := without(l.chance, l.differencesAt(n, other))
			if len(differences) < len(nearest) {
				nearest, want = differences, l.played
			}
		}
		all = append(all, byObject(nearest, want.moments[n].state, other.moments[n].state)...)
	}
	return all
}

// sendAway ends the program until letBack.
func (w *world) sendAway() {
	w.mu.Lock()
	w.back = make(chan struct{})
	current := w.current
	current.sentAway = true
	w.mu.Unlock()
	current.crash()
}

func (w *world) letBack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.letBackLocked()
	w.calmAfterLocked(w.scenario.Quiet)
}

func (w *world) letBackLocked() {
	close(w.back)
	w.back = nil
}

// awaitBackLocked waits until the program is not away. Meanwhile world.mu is not locked.
func (w *world) awaitBackLocked() {
	for w.back != nil && w.ctx.Err() == nil {
		back := w.back
		w.mu.Unlock()
		select {
		case <-back:
		case <-w.ctx.Done():
		}
		w.mu.Lock()
	}
}
