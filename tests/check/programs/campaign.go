package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// campaign is all that is measured for a page.
type campaign struct {
	options
	binary   string
	machine  machine
	programs []string
	sides    []side
	works    []work
	results  []result
}

// work is what the programs do while they are measured.
type work struct {
	name string // of the flag
	load load
}

// storyOf is the name of the one work that is not a standing load.
const storyOf = "story"

func (w work) String() string {
	if w.name == storyOf {
		return storyOf
	}
	return w.load.String()
}

var sides = map[string]side{"client-go": clientGo, "unshared": unshared, "shared": shared}

func sideNames() []string { return []string{"client-go", "unshared", "shared"} }

// parse reads the lists among the options.
func (c *campaign) parse() error {
	for name := range strings.SplitSeq(c.options.sides, ",") {
		if sides[name] == "" {
			return fmt.Errorf("-sides: want some of %v, got %q", sideNames(), name)
		}
		c.sides = append(c.sides, sides[name])
	}
	for name := range strings.SplitSeq(c.options.programs, ",") {
		if flagsOf[name] == nil {
			return fmt.Errorf("-programs: want some of %v, got %q", programs, name)
		}
		c.programs = append(c.programs, name)
	}
	all := c.allWorks()
	for name := range strings.SplitSeq(c.options.works, ",") {
		n := slices.IndexFunc(all, func(w work) bool { return w.name == name })
		if n < 0 {
			return fmt.Errorf("-works: want some of story, many, few and varied, got %q", name)
		}
		c.works = append(c.works, all[n])
	}
	return nil
}

// allWorks are in the page's order.
func (c *campaign) allWorks() []work {
	many := c.options.load
	few, varied := many, many
	few.Deployments, few.Replicas = many.Deployments*10, max(1, many.Replicas/10)
	varied.Varied = true
	small := load{Deployments: min(20, many.Deployments), Replicas: many.Replicas}
	return []work{{"many", many}, {"few", few}, {"varied", varied}, {storyOf, small}}
}

// shown are the works of the page: those of this run, and those that an earlier run has left in the file of -keep.
func (c *campaign) shown() []work {
	return slices.DeleteFunc(c.allWorks(), func(w work) bool {
		return !slices.ContainsFunc(c.results, func(r result) bool { return r.Work == w.String() })
	})
}

// shownSides are those that have results of a work.
func (c *campaign) shownSides(w work) []side {
	return slices.DeleteFunc([]side{clientGo, unshared, shared}, func(of side) bool {
		return !slices.ContainsFunc(c.results, func(r result) bool { return r.Work == w.String() && r.Side == of })
	})
}

// shownPrograms are those that have results of a work.
func (c *campaign) shownPrograms(w work) []string {
	return slices.DeleteFunc(slices.Clone(programs), func(program string) bool {
		return !slices.ContainsFunc(c.results, func(r result) bool {
			return r.Work == w.String() && r.Program == program
		})
	})
}

func (c *campaign) has(program, work string, of side, round int) bool {
	return slices.ContainsFunc(c.results, func(r result) bool {
		return r.Program == program && r.Work == work && r.Side == of && r.Round == round
	})
}

// turns calls play for each side in each round. The rounds begin with another side each, so that none always has the
// same one before it.
func (c *campaign) turns(play func(round int, of side) error) error {
	for round := range c.rounds {
		first := round % len(c.sides)
		for _, of := range slices.Concat(c.sides[first:], c.sides[:first]) {
			if err := play(round, of); err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, of, err)
			}
		}
	}
	return nil
}

func (c *campaign) measure(ctx context.Context) error {
	for _, w := range c.works {
		var err error
		if w.name == storyOf {
			err = c.measureStory(ctx, w)
		} else {
			err = c.measureStanding(ctx, w)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
	}
	return nil
}

func (c *campaign) measureStory(ctx context.Context, w work) error {
	return c.turns(func(round int, of side) error {
		if c.has(manager, w.String(), of, round) {
			return nil
		}
		s := &story{binary: c.binary, load: w.load, nodes: nodes, steps: steps}
		results, err := s.play(ctx, of)
		if err != nil {
			return err
		}
		for _, r := range results {
			r.Round = round
			if err := c.add(r); err != nil {
				return err
			}
		}
		progress("story, round %d, %s: %s", round+1, of, secondsOf(results[0]))
		return nil
	})
}

// programsOn are those that are measured on a standing load. The manager watches all kinds of objects, and shows what
// another load changes.
func (c *campaign) programsOn(w work) []string {
	if w.name == "few" || w.name == "varied" {
		return slices.DeleteFunc(slices.Clone(c.programs), func(name string) bool { return name != manager })
	}
	return c.programs
}

func (c *campaign) measureStanding(ctx context.Context, w work) (err error) {
	s := &standing{binary: c.binary, load: w.load, lasts: c.lasts, profiles: c.profiles}
	defer func() { err = errors.Join(err, s.close()) }()
	return c.turns(func(round int, of side) error {
		for _, name := range c.programsOn(w) {
			if c.has(name, w.String(), of, round) {
				continue
			}
			if s.plane == nil {
				if err := s.open(ctx); err != nil {
					return err
				}
			}
			r, err := s.one(ctx, name, of)
			if err != nil {
				return err
			}
			r.Round = round
			if err := c.add(r); err != nil {
				return err
			}
			progress("%s, round %d, %s on %s: ready %.2f s, CPU %.1f s, live %d MiB, "+
				"RSS %d MiB, %d of %d informers, %d writes",
				w, round+1,
				name, of, r.Look.LastSync.Seconds(), r.Look.CPU.Seconds(), r.Live>>20, r.Look.RSS>>20,
				r.Look.Synced, r.Look.made(), r.Look.Writes)
		}
		return nil
	})
}

type machine struct {
	cpu, load, version string
	cores              int
}

func lookAtMachine() (m machine) {
	m = machine{cpu: runtime.GOARCH, load: "unknown", version: runtime.Version(), cores: runtime.NumCPU()}
	if raw, err := os.ReadFile("/proc/loadavg"); err == nil {
		if fields := strings.Fields(string(raw)); len(fields) > 3 {
			m.load = strings.Join(fields[:3], " ")
		}
	}
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if name, of, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.cpu = strings.TrimSpace(of)
				break
			}
		}
	}
	if out, err := exec.Command("go", "env", "GOVERSION").Output(); err == nil {
		m.version = strings.TrimSpace(string(out))
	}
	return m
}

func secondsOf(r result) string {
	var words []string
	for _, step := range steps {
		words = append(words, fmt.Sprintf("%s %.2f s", step, r.Seconds[step]))
	}
	return strings.Join(words, ", ")
}
