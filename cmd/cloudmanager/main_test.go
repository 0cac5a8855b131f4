package main

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/demo/demotest"
	"glasswatch/cmd/internal/operator"
	"glasswatch/tests/cloudmanager"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestDemo(t *testing.T) { demotest.CheckOutput(t, story) }

func TestSuite(t *testing.T) {
	cloudmanager.Suite(t, cloudmanager.Implementation{Start: func(ctx context.Context, cfg *rest.Config, namespace string) error {
		r, err := newReconciler(cfg, operator.Parts{Namespace: namespace, Workers: 2})
		if err != nil {
			return err
		}
		return r.Run(ctx)
	}})
}
