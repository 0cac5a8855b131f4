package controllertest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGroups_FindingsOfOneBugAreOne(t *testing.T) {
	made := map[string]string{"web-x7k2p": "web-*", "web-m4q8z": "web-*"}
	same := func(oracle Oracle, texts ...string) (problems []problem) {
		for _, text := range texts {
			problems = append(problems, problem{oracle: oracle, text: text})
		}
		return problems
	}
	paces := same(Paces, "31 writes of secrets default/web within 1.3s have changed nothing")
	for _, test := range []struct {
		name  string
		a, b  []problem
		alike bool
	}{
		{"another moment and another value", same(SameState, "settled after step 1: A a .x: want 1, got 2"),
			same(SameState, "settled after step 3: A a .x: want 1, got nothing", "at the end: A a .x: want 1, got 2"), true},
		{"another field", same(SameState, "at the end: A a .x: want 1, got 2"), same(SameState, "at the end: A a .y: want 1, got 2"), false},
		{"one field more", same(SameState, "at the end: A a .x: want 1, got 2"),
			same(SameState, "at the end: A a .x: want 1, got 2", "at the end: A a .y: want 1, got 2"), false},
		{"an object that is missing, or too many", same(SameState, "at the end: A a: missing"), same(SameState, "at the end: A a: should not be there"), false},
		{"another write, and other generated names", same(Invariant, "after program create pods default/web-* #1: web-x7k2p is one of 4"),
			same(Invariant, "after program update pods default/web-* #3: web-m4q8z is one of 12"), true},
		{"another invariant", same(Invariant, "after x #1: too many"), same(Invariant, "after x #1: too few"), false},
		{"another oracle", same(Settles, "no"), same(Stops, "no"), false},
		{"another pace", paces, same(Paces, "41 writes of secrets default/web within 900ms have changed nothing"), true},
		{"a loop that is met in another of its writes", append(same(Settles, "it is stopped\n  create a #1: 201\n  delete a #1: 200"), paces...),
			same(Settles, "it is stopped\n  delete a #21: 200\n  create a #22: 201\n  delete a #22: 200"), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			groups := grouped([]Finding{{essence: essenceOf(test.a, made)}, {essence: essenceOf(test.b, made)}})
			require.Equal(t, test.alike, len(groups) == 1)
		})
	}
}

func TestGroups_TheShortestStoryIsToldAndAFewPlansAreNamed(t *testing.T) {
	var findings []Finding
	for _, plan := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		findings = append(findings, Finding{Faults: plan, Problems: []string{"problem of " + plan}, Story: "long\nstory", Seed: 7})
	}
	findings[3].Story = "short story"
	groups := grouped(append(findings, Finding{Faults: "another", essence: "another bug"}))
	require.Len(t, groups, 2)
	require.Equal(t, `d
  problem of d
short story
play it again: go test -run '^TestA$' -controllertest.fault='d' -controllertest.seed=7
the same in 6 more plans:
  -controllertest.fault='a' -controllertest.seed=7
  -controllertest.fault='b' -controllertest.seed=7
  -controllertest.fault='c' -controllertest.seed=7
  -controllertest.fault='e' -controllertest.seed=7
  -controllertest.fault='f' -controllertest.seed=7
  … and 1 more`, groups[0].text("TestA", true))
	require.Equal(t, "another\n  \n\nplay it again: go test -run '^TestA$' -controllertest.fault='another'", groups[1].text("TestA", false))
}
