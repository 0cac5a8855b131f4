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
	start := func(ctx context.Context, cfg *rest.Config, namespace string) error {
		return operator.Run(ctx, cfg, &operator.Flags{Namespace: namespace, Workers: 2}, program())
	}
	cloudmanager.Suite(t, cloudmanager.Implementation{Start: start})
}
