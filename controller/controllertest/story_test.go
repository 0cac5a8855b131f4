package controllertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStory_OfALoopHasItsBeginningTheFaultAndEachStep(t *testing.T) {
	w := newWorld(&Scenario{}, nil, 100)
	w.note("", "--- step 1: apply")
	for n := range 100 {
		w.note("default/web", "write %d", n)
		if n == 50 {
			w.note("default/web", "*** 500 error")
			w.note("", "--- step 2: patch")
		}
	}
	w.note("", "--- step 3: wait")
	w.note("", "the program has ended")
	lines := strings.Split(w.story(map[string]bool{"default/web": true}), "\n")
	var told []string
	for _, l := range lines {
		told = append(told, l[min(len(l), 16):])
	}
	want := []string{"--- step 1: apply"}
	for n := range 14 {
		want = append(want, fmt.Sprintf("write %d", n))
	}
	want = append(want, "*** 500 error", "--- step 2: patch")
	for n := 76; n < 100; n++ {
		want = append(want, fmt.Sprintf("write %d", n))
	}
	want = append(want, "--- step 3: wait")
	cut := []string{"  (37 lines are left out)", "  (25 lines are left out)"}
	require.Equal(t, cut, []string{lines[15], lines[18]})
	require.Equal(t, want, append(append(told[:15:15], told[16:18]...), told[19:]...))
}

func TestStory_OfFortyLinesIsWhole(t *testing.T) {
	w := newWorld(&Scenario{}, nil, 100)
	for n := range 40 {
		w.note("default/web", "write %d", n)
	}
	require.Len(t, strings.Split(w.story(map[string]bool{"default/web": true}), "\n"), 40)
}

func TestDifferences_OfAWholeObjectAreOne(t *testing.T) {
	want := stateOf(objects(t, "{kind: A, metadata: {name: a}, x: 1, z: 2}", "{kind: B, metadata: {name: b}, x: 1}"))
	got := stateOf(objects(t, "{kind: B, metadata: {name: b}, x: 2, z: 3}", "{kind: C, metadata: {name: c}, x: 1, z: 2}"))
	reference, p := played{moments: []moment{{state: want}}}, played{moments: []moment{{when: "at the end", state: got}}}
	var told []string
	for _, d := range reference.unlike(nil, nil, p) {
		told = append(told, d.String())
	}
	require.Equal(t, []string{
		"at the end: A a: missing",
		"at the end: B b .x: want 1, got 2",
		"at the end: B b .z: want nothing, got 3",
		"at the end: C c: should not be there",
	}, told)
}

// The values of an object that is there by chance are not compared, and neither is whether it is there.
func TestDifferences_OfAWholeObjectThatIsLeftToChance(t *testing.T) {
	here, gone := stateOf(objects(t, "{kind: A, metadata: {name: a}, x: 1}")), state{}
	reference, p := played{moments: []moment{{state: here}}}, played{moments: []moment{{when: "at the end", state: gone}}}
	chance := map[string]bool{}
	for _, d := range reference.differences(p) {
		chance[d.path] = true
	}
	require.NotEmpty(t, chance)
	require.Empty(t, reference.unlike(nil, chance, p))
}

func TestFinding_SaysHowManyProblemsAreLeftOut(t *testing.T) {
	w := newWorld(&Scenario{}, nil, 100)
	for n := range enough + 3 {
		w.found(Invariant, "problem %d", n)
	}
	p := played{problems: w.problems, dropped: w.dropped, story: w.story}
	finding := p.finding(append(p.problems, problem{oracle: SameState, text: "another"}), map[string]bool{})
	require.Len(t, finding.Problems, enough+1)
	require.Equal(t, "… and 4 more", finding.Problems[enough])
	require.Equal(t, []Oracle{Invariant, SameState}, finding.Broken)
}

func TestFinding_OfAProgramThatIsStoppedIsThatAlone(t *testing.T) {
	s := &Scenario{Quiet: time.Second}
	want := stateOf(objects(t, "{kind: A, metadata: {name: a}}"))
	reference := played{moments: []moment{{state: want}}}
	p := played{moments: []moment{{state: state{}}}, problems: []problem{{oracle: Settles, text: "it is stopped"}}, story: newWorld(s, nil, 1).story}
	require.Equal(t, []Oracle{SameState, Settles}, s.judge(nil, reference, p, nil, nil).Broken)
	p.stopped = true
	require.Equal(t, []Oracle{Settles}, s.judge(nil, reference, p, nil, nil).Broken)
}
