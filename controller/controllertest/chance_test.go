package controllertest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"glasswatch/controller/controllertest"
)

func TestTimes_TellWhichPlansDoNotAlwaysEndAlike(t *testing.T) {
	failures := &life{}
	scenario := controllertest.Scenario{
		Start: start(func(ctx context.Context, c *classic, vault *corev1.ConfigMap) error {
			err := createByName(ctx, c, vault)
			if apierrors.IsInternalError(err) {
				failures.count(&failures.tries)
				if failures.tries%2 == 0 { // as if by chance
					return nil
				}
			}
			return err
		}),
		Steps:  []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle()},
		Faults: []controllertest.Fault{controllertest.ServerError, controllertest.Unavailable},
	}
	setFlag(t, "times", "10")
	report := explore(t, scenario)
	require.Equal(t, 2, report.Planned)
	require.Equal(t, 2, report.Fired)
	require.Equal(t, []string{`500 error: program create secrets default/web #1: 5 times it breaks ["same state"], 5 times it finds nothing`}, report.Unsteady)
	require.Equal(t, "500 error: program create secrets default/web #1", only(t, report).Faults)
}
