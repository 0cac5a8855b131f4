package main

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"

	"glasswatch/cmd/cloudmanager/suite"
	"glasswatch/cmd/internal/demo/demotest"
	"glasswatch/cmd/internal/operator"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestDemo(t *testing.T) { demotest.CheckOutput(t, story) }

func TestSuite(t *testing.T) {
	start := func(ctx context.Context, cfg *rest.Config, namespace string) error {
		return operator.Run(ctx, cfg, &operator.Flags{Namespace: namespace, Workers: 2}, program())
	}
	suite.Run(t, suite.Implementation{Start: start})
}
