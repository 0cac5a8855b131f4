package cloudmanager

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/cloudmanager/suite"
	"glasswatch/controller/controllertest"
)

const crd = "../../../../cmd/cloudmanager/api/v1/cloudmanagercontroller.huayun.com_cloudmanagers.yaml"

func TestFaults(t *testing.T) {
	s := suite.Scenario(suite.Implementation{Start: Run}, crd)
	s.Sample = 100
	controllertest.Run(t, s)
}

// With controller-runtime's default each read waits for the deletions before it. This one's event never comes.
func TestFaults_AReadAfterADeletionThatTheCacheMissedWaitsForEver(t *testing.T) {
	waits := func(ctx context.Context, cfg *rest.Config, namespace string) error { return run(ctx, cfg, namespace) }
	s := suite.Scenario(suite.Implementation{Start: waits}, crd)
	s.Faults = []controllertest.Fault{controllertest.Miss}
	report := controllertest.Explore(t, s)
	require.Len(t, report.Findings, 1, "%v", report)
	found := report.Findings[0]
	require.Equal(t, "watch missed it: program delete services default/cm-db #1", found.Faults)
	require.Contains(t, strings.Join(found.Problems, "\n"), `.status.phase: want "Running", got "Creating"`)
}
