package controllertest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Report is what a run has found.
type Report struct {
	Writes   int      // of the program, without faults
	Planned  int      // plans of one fault, or of a pair
	Fired    int      // of those: all faults came to their request
	Requests int      // that faults of these hit
	NotFired []string // the others
	Unsteady []string // plans that did not always end alike, and how often they ended how; see -controllertest.times
	Took     time.Duration
	Findings []Finding
}

// Finding is a plan of faults under which something went wrong.
type Finding struct {
	Faults   string   // names the plan; without faults: what is different about the time of the steps
	Broken   []Oracle // sorted
	Problems []string // what each oracle said
	Story    string   // what happened around the objects concerned
	Seed     uint64   // draws the moves; of no meaning without Scenario.Moves

	log     []entry
	made    map[string]string
	essence string // of what the oracles said; see grouped
}

// Session is all that happened, as a file for cmd/lens --session. It is made anew at each call.
func (f Finding) Session() []byte { return sessionOf(f.log, f.made) }

func (r Report) String() string {
	return fmt.Sprintf("%d writes of the program, %d plans of faults, of which %d came to pass and hit %d requests; %d findings in %d groups; %.1f s, %.0f plans a second",
		r.Writes, r.Planned, r.Fired, r.Requests, len(r.Findings), len(grouped(r.Findings)), r.Took.Seconds(), float64(r.Planned)/r.Took.Seconds())
}

// add adds what another sequence of steps has led to.
func (r *Report) add(other Report) {
	r.Writes += other.Writes
	r.Planned += other.Planned
	r.Requests += other.Requests
	r.Fired += other.Fired
	r.NotFired = append(r.NotFired, other.NotFired...)
	r.Unsteady = append(r.Unsteady, other.Unsteady...)
	r.Took += other.Took
	r.Findings = append(r.Findings, other.Findings...)
}

// told are texts that are told once.
type told struct {
	texts []string
	known map[string]bool
}

func (t *told) add(text string) {
	if t.known == nil {
		t.known = map[string]bool{}
	}
	if !t.known[text] {
		t.known[text] = true
		t.texts = append(t.texts, text)
	}
}

// each tells at most so many of them, and how many more there are.
func (t *told) each(most int, tell func(text string)) {
	for n, text := range t.texts {
		if n == most {
			tell(fmt.Sprintf("… and %d more", len(t.texts)-most))
			return
		}
		tell(text)
	}
}

// endOf says how a play ended.
func endOf(fired bool, finding Finding) string {
	switch {
	case finding.Broken != nil:
		return fmt.Sprintf("breaks %q", finding.Broken)
	case !fired:
		return "does not come to pass"
	}
	return "finds nothing"
}

// timesOf says how often each end was there.
func timesOf(ends map[string]int) string {
	var parts []string
	for _, end := range slices.Sorted(maps.Keys(ends)) {
		parts = append(parts, fmt.Sprintf("%d times it %s", ends[end], end))
	}
	return strings.Join(parts, ", ")
}

// command plays a plan again, which is in quotes.
func command(test, plan string) string {
	parts := strings.Split(test, "/")
	for n, part := range parts {
		parts[n] = "^" + strings.ReplaceAll(regexp.QuoteMeta(part), "'", ".") + "$"
	}
	return fmt.Sprintf("go test -run '%s' -controllertest.fault=%s", strings.Join(parts, "/"), plan)
}
