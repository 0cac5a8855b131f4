package main

import (
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"glasswatch/cmd/internal/demo/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, main) }

func TestDemo(t *testing.T) { demotest.Check(t, story) }

func TestTrials_AreAllFlagsOfKlog(t *testing.T) {
	var want, got []string
	fs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(fs)
	fs.VisitAll(func(f *flag.Flag) { want = append(want, f.Name) })
	for _, trial := range trials {
		name, _, _ := strings.Cut(strings.TrimPrefix(trial.with, "-"), "=")
		got = append(got, name)
	}
	require.Subset(t, got, want)
	require.Subset(t, want, got)
	require.Len(t, want, 15)
}
