package ingress_test

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"

	"glasswatch/controller/controllertest"
	"glasswatch/controller/ingress"
)

// Each fault at each write, in virtual time. What chaos_test.go plays at random, this plays systematically.
func TestFaults_NoneLeavesATrace(t *testing.T) {
	const service = `
apiVersion: v1
kind: Service
metadata: {name: web, annotations: {ingress/http: "true"}}
spec: {ports: [{name: http, port: 80}]}
`
	controllertest.Run(t, controllertest.Scenario{
		Start: func(ctx context.Context, cfg *rest.Config) error {
			c, err := ingress.New(cfg, ingress.Options{Config: ingress.Config{AnnotationPrefix: "ingress", Host: "example.com"}})
			if err != nil {
				return err
			}
			return c.Run(ctx)
		},
		Sample: 12,
		Steps: []controllertest.Step{
			controllertest.ApplyText(service), controllertest.Settle(),
			controllertest.Patch("service/web", `{"spec":{"ports":[{"name":"http","port":8080}]}}`), controllertest.Settle(),
			controllertest.Patch("ingress/web", `{"spec":{"rules":[{"host":"elsewhere.example.com"}]}}`), controllertest.Settle(),
			controllertest.Delete("ingress/web"), controllertest.Settle(),
			controllertest.Patch("service/web", `{"metadata":{"annotations":{"ingress/http":"false"}}}`), controllertest.Settle(),
			controllertest.Patch("service/web", `{"metadata":{"annotations":{"ingress/http":"true"}}}`), controllertest.Settle(),
			controllertest.Delete("service/web"), controllertest.Settle(),
		},
	})
}
