package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// outcome is what a package's tests have said.
type outcome struct {
	// ended has the tests that ended, and how: pass, fail or skip.
	ended  map[string]string
	output map[string]string
	// failed has the subtests that failed, by test.
	failed map[string][]string
	// rest is what was printed outside of tests: a crash, goroutines left over.
	rest string
	// exit is not nil if a program failed though none of its tests did.
	exit error
}

// leftOver is what a program prints that was not ended by its tests: by goroutines that are left, by a race or a crash.
var leftOver = regexp.MustCompile(`goleak:|DATA RACE|panic:|fatal error:`)

// endedBadly: something went wrong that is no test's failure.
func (o outcome) endedBadly() bool {
	return leftOver.MatchString(o.rest) || o.exit != nil
}

// build compiles the test files of a folder as a package of the module at root. The go command sees them in the module
// by an overlay. It returns the program.
func build(root, dir string, names []string) (binary string, err error) {
	replace := map[string]string{}
	virtual := filepath.Join(root, "kept", filepath.Base(dir))
	for _, name := range names {
		replace[filepath.Join(virtual, name)] = filepath.Join(dir, name)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlayFile, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "tests")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlayFile, "-o", binary,
		"./kept/"+filepath.Base(dir))
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, nil
}

// run runs the program once for each of the patterns, at the same time: most tests wait most of the time.
func run(binary string, timeout time.Duration, patterns []string) (outcome, error) {
	outcomes, errs := make([]outcome, len(patterns)), make([]error, len(patterns))
	var wg sync.WaitGroup
	for i, pattern := range patterns {
		wg.Go(func() {
			cmd := exec.Command("go", "tool", "test2json", binary, "-test.v=test2json",
				"-test.timeout="+timeout.String(), "-test.run="+pattern)
			cmd.Dir = filepath.Dir(binary)
			out, err := cmd.Output()
			outcomes[i] = read(out)
			someFailed := slices.Contains(slices.Collect(maps.Values(outcomes[i].ended)), "fail")
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
				errs[i] = err
			} else if !someFailed {
				outcomes[i].exit = err
			}
		})
	}
	wg.Wait()
	return merged(outcomes), errors.Join(errs...)
}

func merged(outcomes []outcome) outcome {
	all := read(nil)
	for _, one := range outcomes {
		maps.Copy(all.ended, one.ended)
		maps.Copy(all.output, one.output)
		maps.Copy(all.failed, one.failed)
		all.rest += one.rest
		all.exit = errors.Join(all.exit, one.exit)
	}
	return all
}

// realTime are tests that want something done within some milliseconds of real time. client-go itself fails them now
// and then on a busy machine. They may be tried three times, the last two times alone.
var realTime = []string{"TestNewReflectorWithCustomBackoff"} // 300 ms for waits of 250

// runAgain gives the tests of realTime that failed another chance.
func runAgain(binary string, timeout time.Duration, out *outcome) error {
	for range 2 {
		for _, name := range realTime {
			if out.ended[name] != "fail" {
				continue
			}
			again, err := run(binary, timeout, []string{"^" + name + "$"})
			if err != nil {
				return err
			}
			fmt.Printf("%s missed its time, and was run again: %s\n", name, again.ended[name])
			out.ended[name], out.output[name] = again.ended[name], again.output[name]
			out.failed[name] = again.failed[name]
			out.rest += again.rest
			out.exit = errors.Join(out.exit, again.exit)
		}
	}
	return nil
}

// patterns deals the tests that are kept out to n runs. Those that are known to fail have a run of their own, since
// goroutines left over are looked for only after a run that passed.
func patterns(tests []test, n int, known []row) []string {
	dealt := make([]string, n+1)
	at := 0
	for _, t := range tests {
		isThis := func(r row) bool { return r.name == t.name && r.result == differs }
		switch {
		case len(t.unexported) > 0:
		case slices.ContainsFunc(known, isThis):
			dealt[n] += "|" + t.name
		default:
			dealt[at%n] += "|" + t.name
			at++
		}
	}
	var patterns []string
	for _, names := range dealt {
		if names != "" {
			patterns = append(patterns, "^("+names[1:]+")$")
		}
	}
	return patterns
}

// read sorts the output by test. A subtest's lines are its test's.
func read(stdout []byte) outcome {
	found := outcome{map[string]string{}, map[string]string{}, map[string][]string{}, "", nil}
	var rest strings.Builder
	lines := bufio.NewScanner(bytes.NewReader(stdout))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(&rest, lines.Text())
			continue
		}
		name, subtest, sub := strings.Cut(e.Test, "/")
		switch e.Action {
		case "output":
			if name == "" {
				rest.WriteString(e.Output)
			} else {
				found.output[name] += e.Output
			}
		case "pass", "fail", "skip":
			if name != "" && !sub {
				found.ended[name] = e.Action
			} else if sub && e.Action == "fail" {
				found.failed[name] = append(found.failed[name], subtest)
			}
		}
	}
	found.rest = rest.String()
	return found
}
