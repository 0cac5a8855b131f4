package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/demo/demotest"
	"glasswatch/cmd/internal/operator"
	"glasswatch/tests/cloudmanager"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestSuite(t *testing.T) {
	cloudmanager.Suite(t, cloudmanager.Implementation{Start: func(ctx context.Context, cfg *rest.Config, namespace string) error {
		r, err := newReconciler(cfg, operator.Parts{Namespace: namespace, Workers: 2})
		if err != nil {
			return err
		}
		return r.Run(ctx)
	}})
}

func TestDemo(t *testing.T) { demotest.CheckOutput(t, story) }

func TestFlags(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"--version"}, &out))
	require.Equal(t, "dev\n", out.String())
	require.NoError(t, run(t.Context(), []string{"--help"}, &out))
	require.Contains(t, out.String(), "--demo")
	require.ErrorContains(t, run(t.Context(), []string{"--workers=0"}, &out), "--workers: want at least 1")
	require.ErrorContains(t, run(t.Context(), []string{"--demo=true"}, &out), "it takes no value")
}
