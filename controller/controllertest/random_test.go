package controllertest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"glasswatch/controller/controllertest"
)

// The program tries again, unless the text is "three".
func forgetsThree(ctx context.Context, c *classic, vault *corev1.ConfigMap) error {
	err := remember(ctx, c, vault)
	if vault.Data["text"] == "three" {
		return nil
	}
	return err
}

func TestMoves_FindWhatNoStepOfTheScenarioLooksFor(t *testing.T) {
	scenario := controllertest.Scenario{
		Start:  start(forgetsThree),
		Steps:  []controllertest.Step{controllertest.ApplyText(vault + "data: {text: one}\n"), controllertest.Settle()},
		Faults: []controllertest.Fault{controllertest.ServerError},
	}
	require.Empty(t, explore(t, scenario).Findings)

	scenario.Moves = []controllertest.Move{controllertest.Mutate("configmap/web", ".data.text", "one", "two", "three")}
	setFlag(t, "random", "2") // the second one sets "three"
	findings := explore(t, scenario).Findings
	require.NotEmpty(t, findings)
	finding := findings[len(findings)-1]
	require.Equal(t, "500 error: program create secrets default/web-three #1", finding.Faults)
	require.Contains(t, finding.Story, "mutate configmap/web .data.text to three")

	setFlag(t, "random", "1") // as the command that is printed has it
	setFlag(t, "seed", fmt.Sprint(finding.Seed))
	setFlag(t, "fault", finding.Faults)
	again := only(t, explore(t, scenario))
	require.Equal(t, finding.Faults, again.Faults)
	require.Equal(t, finding.Broken, again.Broken)
}

// Each play ends with one vault, under either name, and its Secret.
func TestMoves_RenameAndDelete(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	always := func(v controllertest.View) error {
		var names []string
		for _, obj := range append(v.Kind("ConfigMap"), v.Kind("Secret")...) {
			names = append(names, obj.GetKind()+" "+obj.GetName())
		}
		slices.Sort(names)
		mu.Lock()
		defer mu.Unlock()
		seen[strings.Join(names, ", ")] = true
		return nil
	}
	setFlag(t, "seed", "8") // renames there and back, and deletes in between
	report := explore(t, controllertest.Scenario{
		Start:  start(createByName),
		Steps:  []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle()},
		Moves:  []controllertest.Move{controllertest.Rename("configmap/web", "blue"), controllertest.DeleteAny("secret")},
		Faults: []controllertest.Fault{controllertest.HoldSeconds},
		Always: always,
		Sample: 3,
	})
	require.Positive(t, report.Fired)
	require.True(t, seen["ConfigMap web"], "%v", seen)
	require.True(t, seen["ConfigMap web, Secret web"], "%v", seen)
	require.True(t, seen["ConfigMap blue, Secret web"], "%v", seen)
	require.True(t, seen["ConfigMap blue, Secret blue, Secret web"], "%v", seen)
}

func TestDeleteAny_LeavesTheServersOwnObjectsAlone(t *testing.T) {
	var gone atomic.Bool
	explore(t, controllertest.Scenario{
		Start: secretOnce, Faults: []controllertest.Fault{controllertest.LoseAnswer},
		Steps: []controllertest.Step{
			controllertest.ApplyText("{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}\n" +
				"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: after}}"),
			controllertest.Settle()},
		Moves: []controllertest.Move{controllertest.DeleteAny("service")},
		Always: func(v controllertest.View) error {
			if v.Get("Service", "default", "kubernetes") == nil {
				return errors.New("the API server's own Service is gone")
			}
			if v.Get("ConfigMap", "default", "after") != nil && v.Get("Service", "default", "web") == nil {
				gone.Store(true)
			}
			return nil
		},
	})
	require.True(t, gone.Load(), "others are deleted")
}
