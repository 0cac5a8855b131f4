package main

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/cmd/internal/operator"
	"glasswatch/controller/controllertest"
)

// Each fault at each request, in virtual time.
func TestFaults_NoneLeavesATrace(t *testing.T) {
	s := scenario()
	s.Sample = 12
	controllertest.Run(t, s)
}

func scenario() controllertest.Scenario {
	const foo = `
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: web}
spec: {deploymentName: web, replicas: 1}
`
	return controllertest.Scenario{
		CRDs: []string{"api/v1alpha1/samplecontroller.k8s.io_foos.yaml"},
		Start: func(ctx context.Context, cfg *rest.Config) error {
			c, err := New(cfg, operator.Parts{Workers: 2}, 0)
			if err != nil {
				return err
			}
			return c.Run(ctx)
		},
		World: []controllertest.Start{controllertest.Workloads},
		Steps: []controllertest.Step{
			controllertest.ApplyText(foo), controllertest.Settle(),
			controllertest.Patch("foo/web", `{"spec":{"replicas":3}}`), controllertest.Settle(),
			controllertest.Delete("deployment/web"), controllertest.Settle(),
			controllertest.Delete("foo/web"), controllertest.Settle(),
		},
	}
}

// BenchmarkFaults says how many plans are played in a second. The two plays without faults do not count, but their time does. On one core:
//
//	go test ./cmd/foo-controller -run '^$' -bench Faults -cpu 1
func BenchmarkFaults(b *testing.B) {
	klog.SetLogger(logr.Discard())
	b.Cleanup(klog.ClearLogger)
	s, plans := scenario(), 0
	s.Sample = 40
	explore := testing.InternalTest{Name: "explore", F: func(t *testing.T) { plans += controllertest.Explore(t, s).Planned }}
	always := func(string, string) (bool, error) { return true, nil }
	for b.Loop() {
		require.True(b, testing.RunTests(always, []testing.InternalTest{explore}))
	}
	b.ReportMetric(float64(plans)/b.Elapsed().Seconds(), "plans/s")
}
