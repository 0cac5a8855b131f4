package main

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/operator"
	"glasswatch/controller/controllertest"
)

// Each fault at each request, in virtual time.
func TestFaults_NoneLeavesATrace(t *testing.T) {
	const foo = `
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: web}
spec: {deploymentName: web, replicas: 1}
`
	controllertest.Run(t, controllertest.Scenario{
		CRDs: []string{"api/v1alpha1/samplecontroller.k8s.io_foos.yaml"},
		Start: func(ctx context.Context, cfg *rest.Config) error {
			c, err := New(cfg, operator.Parts{Workers: 2}, 0)
			if err != nil {
				return err
			}
			return c.Run(ctx)
		},
		Sample: 12,
		World:  []controllertest.Start{controllertest.Workloads},
		Steps: []controllertest.Step{
			controllertest.ApplyText(foo), controllertest.Settle(),
			controllertest.Patch("foo/web", `{"spec":{"replicas":3}}`), controllertest.Settle(),
			controllertest.Delete("deployment/web"), controllertest.Settle(),
			controllertest.Delete("foo/web"), controllertest.Settle(),
		},
	})
}
