package main

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"

	"glasswatch/cmd/cloudmanager/suite"
	"glasswatch/cmd/internal/operator"
	"glasswatch/controller/controllertest"
)

func TestFaults_NoneLeavesATrace(t *testing.T) {
	start := func(ctx context.Context, cfg *rest.Config, namespace string) error {
		return operator.Run(ctx, cfg, &operator.Flags{Namespace: namespace, Workers: 2}, program())
	}
	s := suite.Scenario(suite.Implementation{Start: start}, "api/v1/cloudmanagercontroller.huayun.com_cloudmanagers.yaml")
	s.Sample = 10
	controllertest.Run(t, s)
}
