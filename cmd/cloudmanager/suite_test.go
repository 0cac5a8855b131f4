package main

import (
	"context"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"glasswatch/tests/cloudmanager"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	cloudmanager.Suite(t, cloudmanager.Implementation{Start: func(ctx context.Context, cfg *rest.Config, namespace string) error {
		o, err := newOperator(cfg, parts{namespace: namespace, workers: 2})
		if err != nil {
			return err
		}
		return o.Run(ctx)
	}})
}
