package controllertest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// What fails without faults is never a finding, and cannot be switched off.
func TestReference_FailsIfTheScenarioDoes(t *testing.T) {
	wait := func(ctx context.Context, _ *rest.Config) error { <-ctx.Done(); return nil }
	fails := func(context.Context, *rest.Config) error { return errors.New("no") }
	for says, s := range map[string]Scenario{
		"runs: step 1, apply no-such-file.yaml: open": {Start: wait, Steps: []Step{Apply("no-such-file.yaml")}},
		"runs: somebody of the World has ended: no":   {Start: wait, World: []Start{fails}},
		"runs: Start returned before its context":     {Start: fails},
	} {
		s.Without = map[Oracle]string{Settles: "this test looks at steps"}
		_, _, err := s.reference(t)
		require.ErrorContains(t, err, says)
	}
}

func TestScenario_IsValidated(t *testing.T) {
	start := func(context.Context, *rest.Config) error { return nil }
	steps := []Step{Settle()}
	for says, s := range map[string]Scenario{
		"Scenario.Start is nil":                         {Steps: steps},
		"Scenario.Steps is empty":                       {Start: start},
		"Scenario.Steps[0] is empty":                    {Start: start, Steps: []Step{{}}},
		`Scenario.Faults has "rain"`:                    {Start: start, Steps: steps, Faults: []Fault{"rain"}},
		`Scenario.Without has "runs", which is none of`: {Start: start, Steps: steps, Without: map[Oracle]string{Runs: "it does not"}},
	} {
		require.ErrorContains(t, s.validate(), says)
	}
}
