package main

import (
	"bytes"
	"flag"
	"net"
	"os"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"glasswatch/cmd/internal/cluster"
	"glasswatch/cmd/internal/demo"
	"glasswatch/cmd/internal/demo/demotest"
	"glasswatch/internal/apiserver"
)

func TestMain(m *testing.M) {
	// The other handler sleeps until its last error is a millisecond ago. In virtual time, which begins in the year
	// 2000, that would take decades.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	demotest.Main(m, main)
}

func TestDemo_ShowsTheSameEachTime(t *testing.T) {
	listen := cluster.Listen
	t.Cleanup(func() { cluster.Listen = listen })
	cluster.Listen = func() (net.Listener, error) { return apiserver.NewPipeListener(), nil }
	synctest.Test(t, showsTheGolden)
}

func showsTheGolden(t *testing.T) {
	const golden = "testdata/demo.golden"
	var out, errs bytes.Buffer
	require.Zero(t, demo.Run(t.Context(), story, []string{"--demo"}, &out, &errs), "%s%s", &out, &errs)
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(golden, []byte(demotest.Mask(out.String())), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), demotest.Mask(out.String()))
}

func TestRun_NamesAWrongFlagAndTellsOfTheDemo(t *testing.T) {
	var out bytes.Buffer
	require.ErrorContains(t, run(t.Context(), []string{"--resync=-1s"}, &out), "--resync: want 0 or more, got -1s")
	require.ErrorContains(t, run(t.Context(), []string{"--workers=0"}, &out), "--workers: want at least 1")
	require.ErrorContains(t, run(t.Context(), []string{"--demo=true"}, &out), "--demo")
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	require.NotContains(t, run(t.Context(), nil, &out).Error(), "--embedded", "it has no such flag")
	require.NoError(t, run(t.Context(), []string{"--version"}, &out))
	require.Equal(t, "dev\n", out.String())
	require.NoError(t, run(t.Context(), []string{"--help"}, &out))
	require.Contains(t, out.String(), "--demo")
	require.Contains(t, out.String(), "--leader-elect")
}
