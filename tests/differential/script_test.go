package differential

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"
)

// script is a history and the circumstances it is played under.
type script struct {
	world []string // words of the first line: see worldWords
	steps []step
}

// step is one line of a script: a verb and its operands.
type step []string

// The words of the first line, besides mode=….
var worldWords = []string{"streaming", "resync", "transform", "lag", "pages", "nocache", "nostreaming", "refuses", "nobatch"}

// The modes are the kinds of queues. inorder-known is client-go's in-order queue without AtomicFIFO.
var modes = []string{"inorder", "inorder-known", "perkey"}

func (s script) has(word string) bool { return slices.Contains(s.world, word) }

func (s script) mode() string {
	for _, word := range s.world {
		if mode, ok := strings.CutPrefix(word, "mode="); ok {
			return mode
		}
	}
	return modes[0]
}

func (s script) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, "world", strings.Join(s.world, " "))
	for _, step := range s.steps {
		fmt.Fprintln(&b, strings.Join(step, " "))
	}
	return b.String()
}

// parseScript reads what String wrote. Empty lines and what follows a # are left out.
func parseScript(text string) (script, error) {
	var s script
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case s.world == nil && words[0] != "world":
			return s, fmt.Errorf("line %d: a script begins with a world line", n+1)
		case s.world == nil:
			s.world = append([]string{}, words[1:]...)
		default:
			if err := step(words).check(); err != nil {
				return s, fmt.Errorf("line %d: %w", n+1, err)
			}
			s.steps = append(s.steps, words)
		}
	}
	return s, nil
}

// operands is how many operands a verb has; -1 is any number.
var operands = map[string]int{
	"write": -1, "elsewhere": 0, "bookmark": 0, "compact": 0, // the server's data
	"break": 0, "down": 0, "answer": 0, "up": 0, "fail": 2, // its availability
	"add": 2, "remove": 1, "block": 1, "allow": 2, "unblock": 1, // handlers
	"start": 0, "pass": 1,
}

func (s step) check() error {
	n, known := operands[s[0]]
	if !known {
		return fmt.Errorf("unknown verb %q", s[0])
	}
	if n >= 0 && n != len(s)-1 {
		return fmt.Errorf("%s takes %d operands", s[0], n)
	}
	switch s[0] {
	case "pass":
		_, err := time.ParseDuration(s[1])
		return err
	case "allow":
		_, err := strconv.Atoi(s[2])
		return err
	}
	return nil
}

var (
	keys     = []string{"x/a", "x/b", "y/a", "y/c", "z"}
	handlers = []string{"h0", "h1", "h2"}
	resyncs  = []string{"default", "none", "half", "double"}
	// failures that are answered in the same way; see the package's documentation.
	listFailures   = []string{"403", "410", "429", "500", "503", "refused", "toolarge"}
	streamFailures = []string{"403", "410", "429", "500", "503", "refused", "toolarge", "short", "event-410"}
	watchFailures  = []string{"403", "410", "429", "500", "refused", "short", "event-410", "event-429"}
)

// drawScript makes a script. Impossible steps do nothing, so that any part of a script is a script, too.
func drawScript(t *rapid.T, mode string) script {
	s := script{world: []string{"mode=" + mode}}
	for _, word := range worldWords {
		if rapid.IntRange(0, 2).Draw(t, word) == 2 {
			s.world = append(s.world, word)
		}
	}
	before := rapid.SliceOfN(rapid.Custom(drawStep), 0, 5).Draw(t, "before the start")
	s.steps = append(before, step{"start"})
	// Slices of slices: those that rapid draws are short.
	for _, steps := range rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(drawStep), 1, 10), 0, 12).Draw(t, "after the start") {
		s.steps = append(s.steps, steps...)
	}
	return s
}

// weights say how often a verb is drawn.
var weights = []string{
	"write", "write", "write", "write", "write", "write", "write", "write",
	"elsewhere", "bookmark", "compact", "compact",
	"break", "down", "down", "answer", "answer", "up", "up", "fail",
	"add", "add", "add", "remove", "block", "allow", "unblock", "unblock", "pass", "pass",
}

func drawStep(t *rapid.T) step {
	s := step{rapid.SampledFrom(weights).Draw(t, "verb")}
	from := func(words []string) string { return rapid.SampledFrom(words).Draw(t, "operand") }
	switch s[0] {
	case "write":
		for range rapid.IntRange(1, 4).Draw(t, "writes") {
			s = append(s, from([]string{"+", "+", "-"})+from(keys))
		}
	case "fail":
		switch verb := from([]string{list, stream, plain}); verb {
		case list:
			s = append(s, verb, from(listFailures))
		case stream:
			s = append(s, verb, from(streamFailures))
		default:
			s = append(s, verb, from(watchFailures))
		}
	case "add":
		s = append(s, from(handlers), from(resyncs))
	case "remove", "block", "unblock":
		s = append(s, from(handlers))
	case "allow":
		s = append(s, from(handlers), strconv.Itoa(rapid.IntRange(1, 3).Draw(t, "calls")))
	case "pass":
		s = append(s, from([]string{"1s", "2m", "5m", "31m", "1h1m"}))
	}
	return s
}
