package controllertest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// Start runs a program until ctx ends, and returns when its goroutines have ended. It talks to the API server of cfg only.
type Start func(ctx context.Context, cfg *rest.Config) error

// Scenario is a controller, the cluster around it, and what its users do.
type Scenario struct {
	// CRDs are files with custom resource definitions, or folders of such files. They are created before anything runs.
	CRDs []string
	// Start runs the controller under test. After a crash it is called again, with another config, in the same process: so
	// what it keeps in global variables outlives the crash. The time until then is a kubelet's back-off.
	Start Start
	// World are others at work in the cluster, such as Workloads, Jobs and Pods. They suffer no faults.
	World []Start
	// Steps are what users do, one after the other.
	Steps []Step
	// Moves, if there are any, are drawn at random: five of them follow the steps, at random times. Another -controllertest.seed draws other
	// ones, and -controllertest.random says how many sequences are played, each with its own play without faults.
	Moves []Move
	// Always, if set, is asked after each write of anybody that changed something. An error is a finding. Plays run at the same time, so it
	// must not share variables without a lock, and it must not send requests.
	Always func(View) error
	// Faults are the kinds of faults that are tried; nil is all of them.
	Faults []Fault
	// Without switches oracles off. The value says why, and is printed.
	Without map[Oracle]string
	// Ignore keeps something out of comparisons: a kind ("Secret"), or a field of it and what is below ("Deployment .status"). In lists
	// that is the field of all elements ("Service .spec.ports.port"), or of one (".spec.ports[0].port"). The value says why, and is
	// printed. What is not there in any play is a mistake, and fails the test, unless there are Moves.
	Ignore map[string]string
	// Sample, if not 0, is how many plans of faults are played, spread evenly over all of them. With -controllertest.all it is all of them.
	Sample int
	// Quiet is how long nobody must have written for Settle to be content, in virtual time. 0 is 30 seconds. A controller that
	// waits longer than this before its next write needs more.
	Quiet time.Duration
	// Limit is how many writes may change something in the play without faults. 0 is 2000. With a fault there may be 200 more than ten
	// times those without. The program may try ten times as many writes as that, so that refused ones are bounded, too.
	Limit int

	definitions []*unstructured.Unstructured // those of CRDs
	kinds       meta.RESTMapper              // what the play without faults knew of kinds in the end; nil before
	firstOnly   bool                         // no play begins after the first finding
	seed        uint64                       // of the moves that were drawn
}

// Oracle is a question that is asked of each play.
type Oracle string

// The oracles.
const (
	// SameState: at each Settle and at the end the objects are those of the play without faults. Where users act again before all has
	// settled, they may also be those of a play without faults in which a step comes when all has settled, or while the program is away
	// since before the last step. What is different in such an end is printed.
	SameState Oracle = "same state"
	// Invariant: Always returned no error.
	Invariant Oracle = "invariant"
	// Settles: the writes come to an end. Without it Settle waits for five minutes at most, or until faults are over.
	Settles Oracle = "settles"
	// StaysQuiet: in forty minutes after the end the program tries at most one write more than without faults: a timer may fall into them
	// once more. Writes that are refused, or change nothing, count like others.
	StaysQuiet Oracle = "stays quiet"
	// Paces: within a minute the program tries to write an object at most 100 times, and at most 30 of its writes change nothing. The
	// minute begins with the first write to the object after the last minute. Objects of which the server makes the names are not
	// counted, and dry runs may change nothing.
	Paces Oracle = "paces"
	// CleansUp: at each Settle and at the end nothing is being deleted, but objects that Ignore leaves out. A program that looks at a
	// clean-up less often than Quiet is still at work then: it switches this off, or settles for longer.
	CleansUp Oracle = "cleans up"
	// Succeeds: without faults no write of the program fails for good. One does if before a Settle is over it has been refused three times, over a
	// second or longer, and never gets through until the end, though it is tried after the last step that acts. That a creation finds the name taken, and a deletion nothing, is no refusal.
	Succeeds Oracle = "succeeds"
	// Stops: Start returns within five minutes after its context ended, and a second later it has left no goroutine behind.
	Stops Oracle = "stops"
	// Runs: each step succeeds within an hour, nobody of World ends with an error, and Start does not panic, nor return without a fault, nor
	// return more than once in the forty minutes of StaysQuiet. It cannot be switched off.
	Runs Oracle = "runs"
)

func (s *Scenario) asks(oracle Oracle) bool {
	_, off := s.Without[oracle]
	return !off
}

var ignorable = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*( \..+)?$`)

func (s *Scenario) validate() error {
	switch {
	case s.Start == nil:
		return fmt.Errorf("Scenario.Start is nil: it is to run the controller until its context ends")
	case len(s.Steps) == 0:
		return fmt.Errorf("Scenario.Steps is empty: without a step nothing happens that a fault could hit; begin with Apply(file)")
	}
	for _, fault := range s.Faults {
		if _, ok := behaviours[fault]; !ok {
			return fmt.Errorf("Scenario.Faults has %q, which is none of %q", fault, AllFaults())
		}
	}
	for n, step := range s.Steps {
		if !step.settle && step.do == nil {
			return fmt.Errorf("Scenario.Steps[%d] is empty: make it with Apply, Settle, Do or the like", n)
		}
	}
	for n, move := range s.Moves {
		if move.err != nil {
			return fmt.Errorf("Scenario.Moves[%d]: %w", n, move.err)
		}
		if move.draw == nil {
			return fmt.Errorf("Scenario.Moves[%d] is empty: make it with Mutate, DeleteAny or Rename", n)
		}
	}
	for what := range s.Ignore {
		if !ignorable.MatchString(what) {
			return fmt.Errorf("Scenario.Ignore has %q: want a kind, such as Secret, or a field of it, such as Secret .type", what)
		}
	}
	canBeOff := []Oracle{SameState, Invariant, Settles, StaysQuiet, Paces, CleansUp, Succeeds, Stops}
	for oracle := range s.Without {
		if !slices.Contains(canBeOff, oracle) {
			return fmt.Errorf("Scenario.Without has %q, which is none of %q", oracle, canBeOff)
		}
	}
	return nil
}
