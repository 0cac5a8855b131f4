package controllertest

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// group is the findings that say the same of different plans: most likely they are of one bug. The first one tells it in the fewest lines.
type group []Finding

// grouped puts findings together whose oracles say the same, apart from numbers, generated names, and when it was.
func grouped(findings []Finding) (groups []group) {
	at := map[string]int{}
	for _, f := range findings {
		n, known := at[f.essence]
		if !known {
			n = len(groups)
			at[f.essence] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], f)
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b Finding) int { return cmp.Compare(a.length(), b.length()) })
	}
	return groups
}

// length is that of what is told of a finding, in lines.
func (f Finding) length() int { return len(f.Problems) + strings.Count(f.Story, "\n") }

var number = regexp.MustCompile(`0x[0-9a-f]+|[0-9][0-9.hmsµn]*`) // also a time, such as 5m0.2s

// essenceOf is what tells the problems of one bug from those of another. It has the lines of all problems, each once, in no order: a loop
// may be met in any of its writes. Of a program that writes for ever the last writes tell more than their paces.
func essenceOf(problems []problem, made map[string]string) string {
	names := replacerOf(made)
	lines := map[string]bool{}
	forEver := slices.ContainsFunc(problems, func(p problem) bool { return p.oracle == Settles })
	for _, p := range problems {
		if p.oracle == Paces && forEver {
			continue
		}
		text := p.text
		switch p.oracle {
		case SameState, Invariant, CleansUp:
			_, text, _ = strings.Cut(text, ": ") // after when it was
		}
		if p.oracle == SameState {
			text, _, _ = strings.Cut(text, ": want ") // the object and its field remain
		}
		for line := range strings.Lines(names.Replace(text)) {
			lines[string(p.oracle)+": "+number.ReplaceAllString(strings.TrimSpace(line), "0")] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(lines)), "\n")
}

// plansNamed is how many of a group's other plans are named.
const plansNamed = 5

// text tells the first finding of a group, how it is played again, and which plans lead to the same.
func (g group) text(test string, withSeed bool) string {
	plan := func(f Finding) string {
		if withSeed {
			return fmt.Sprintf("'%s' -controllertest.seed=%d", f.Faults, f.Seed)
		}
		return fmt.Sprintf("'%s'", f.Faults)
	}
	first := g[0]
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n  %s\n%s\nplay it again: %s", first.Faults, strings.Join(first.Problems, "\n  "), first.Story, command(test, plan(first)))
	more := g[1:]
	if len(more) == 0 {
		return out.String()
	}
	fmt.Fprintf(&out, "\nthe same in %d more plans:", len(more))
	for n, f := range more {
		if n == plansNamed {
			fmt.Fprintf(&out, "\n  … and %d more", len(more)-n)
			break
		}
		fmt.Fprintf(&out, "\n  -controllertest.fault=%s", plan(f))
	}
	return out.String()
}
