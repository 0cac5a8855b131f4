package controllertest

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

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
		s.Quiet, s.Without = time.Second, map[Oracle]string{Settles: "this test looks at steps"}
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
		"Scenario.Moves[0] is empty":                    {Start: start, Steps: steps, Moves: []Move{{}}},
		"Mutate wants a field such as .spec.replicas":   {Start: start, Steps: steps, Moves: []Move{Mutate("foo/web", "spec", 1)}},
	} {
		require.ErrorContains(t, s.validate(), says)
	}
}

func TestScenario_IgnoreIsAKindOrAFieldOfIt(t *testing.T) {
	s := Scenario{Start: func(context.Context, *rest.Config) error { return nil }, Steps: []Step{Settle()}}
	for _, what := range []string{"", "Secret data", "secrets .data", ".data", "Secret ."} {
		s.Ignore = map[string]string{what: "wrong"}
		require.Error(t, s.validate(), what)
	}
	s.Ignore = map[string]string{"Secret": "right", "Secret .data.a b": "right", "Service .spec.ports[0].port": "right"}
	require.NoError(t, s.validate())
}

func TestCommand_FindsTheTestAgain(t *testing.T) {
	require.Equal(t, `go test -run '^TestA$/^b\(1\)\+c.s$' -controllertest.fault='500 error: x #1'`, command("TestA/b(1)+c's", "'500 error: x #1'"))
}

func TestRequest_WhatHasNoNameAndNoFaults(t *testing.T) {
	for path, named := range map[string]bool{
		"/api/v1/namespaces/default/events/a":                           false,
		"/apis/events.k8s.io/v1/namespaces/default/events/a":            false,
		"/apis/coordination.k8s.io/v1/namespaces/default/leases/a":      false,
		"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":        false,
		"/apis/shop.example.com/v1/namespaces/default/reviews/a":        true,
		"/apis/shop.example.com/v1/namespaces/default/events/a":         true,
		"/apis/shop.example.com/v1/namespaces/default/leases/a":         true,
		"/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/a": true,
		"/api/v1/namespaces/default/configmaps/events":                  true,
	} {
		require.Equal(t, named, parse(program, httptest.NewRequest("DELETE", path, nil), nil).isWrite(), path)
	}
}

func TestFault_WhereItMakesSense(t *testing.T) {
	update, create := request{who: program, verb: "update", resource: "secrets"}, request{who: program, verb: "create", resource: "secrets"}
	theirs, watched := request{who: others, verb: "update", resource: "secrets"}, map[string]bool{"secrets": true}
	require.True(t, Conflict.possible(update, nil, false))
	require.False(t, Conflict.possible(create, nil, false), "409 says then that the name is taken")
	require.True(t, ServerError.possible(create, nil, false))
	require.False(t, ServerError.possible(theirs, watched, false))
	require.True(t, Outage.possible(theirs, watched, false))
	require.False(t, Outage.possible(theirs, nil, false))
	require.True(t, ClockAhead.possible(theirs, nil, true))
	require.False(t, ClockAhead.possible(update, watched, false), "no Lease, no clock")
}

func TestHold_LastsUntilTheLastOneEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&Scenario{}, nil, 10)
		defer w.cancel()
		isHeld := func(resource string) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.held[resource] != nil
		}
		w.hold("secrets", seconds)
		w.hold("secrets", untilSettled)
		w.hold("pods", minutes)
		w.hold("pods", seconds)
		time.Sleep(seconds + time.Second)
		require.True(t, isHeld("secrets"))
		require.True(t, isHeld("pods"))
		require.True(t, w.releaseLong())
		time.Sleep(minutes)
		require.False(t, isHeld("secrets"))
		require.False(t, isHeld("pods"))
	})
}

func TestAway_LastsUntilTheLastFaultEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&Scenario{}, nil, 10)
		defer w.cancel()
		i := &instance{world: w}
		list, get, write := request{verb: "list", resource: "pods"}, request{verb: "get", resource: "pods"}, request{verb: "update", resource: "pods"}
		w.cut("pods")
		time.Sleep(missing / 2)
		w.cut("pods")
		time.Sleep(missing/2 + time.Second)
		require.True(t, i.isCutOff(list))
		require.False(t, i.isCutOff(get), "only lists and watches fail")
		require.False(t, i.isCutOff(write))
		require.False(t, i.isCutOff(request{verb: "list", resource: "secrets"}))
		time.Sleep(missing)
		require.False(t, i.isCutOff(list))
	})
}
