package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"glasswatch/cmd/internal/demo/demotest"
)

func TestMain(m *testing.M) {
	// klog's flush daemon has no way to be stopped.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

func TestDemo_ShowsTheSameEachTime(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"--demo"}, &out), "%s", &out)
	golden := filepath.Join("testdata", "demo.golden")
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(golden, []byte(demotest.Mask(out.String())), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), demotest.Mask(out.String()))
}

func TestFlags_NameWhatIsWrong(t *testing.T) {
	for args, want := range map[string]string{
		"--listen=:8888":          "others could read the tokens on the way",
		"--tls-cert-file=a":       "want both or neither",
		"--max-kinds=0":           "want more than 0",
		"--token-file=/nowhere/a": "--token-file: ",
	} {
		o, err := parse(strings.Fields(args), &bytes.Buffer{})
		if err == nil {
			err = o.readToken(&bytes.Buffer{})
		}
		require.ErrorContains(t, err, want, args)
	}
	var out bytes.Buffer
	o, err := parse(nil, &out)
	require.NoError(t, err)
	require.NoError(t, o.readToken(&out))
	require.GreaterOrEqual(t, len(o.token), 16)
	require.Contains(t, out.String(), o.token, "it is printed once, for there is no other way to learn it")
}
