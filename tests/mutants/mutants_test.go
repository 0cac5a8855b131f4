package mutants

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMutants_EachFitsTheCode(t *testing.T) {
	all := Read(t, "testdata/*.txt")
	require.GreaterOrEqual(t, len(all), 40)
	names := map[string]bool{}
	for _, m := range all {
		require.False(t, names[m.Name], "two mutants are called %s", m.Name)
		names[m.Name] = true
		_, err := m.Apply()
		require.NoError(t, err)
	}
}

func TestMutants_EachTurnsTheTestsOfItsLayerRed(t *testing.T) {
	if os.Getenv("GLASSWATCH_MUTANTS") == "" {
		t.Skip("takes about ten minutes: GLASSWATCH_MUTANTS=1 go test -v ./tests/mutants")
	}
	atOnce := make(chan struct{}, runtime.GOMAXPROCS(0))
	sound := map[string]bool{}
	for _, m := range Read(t, "testdata/*.txt") {
		if layer := m.Layer(); !sound[layer] {
			sound[layer] = true
			t.Run("no bug in "+layer, func(t *testing.T) {
				t.Parallel()
				atOnce <- struct{}{}
				defer func() { <-atOnce }()
				by, red := Run(t, layer, Build(t, layer, nil), Patience)
				require.False(t, red, "%s is red without a bug, or slow, so its mutants prove nothing: %s", layer, by)
			})
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			text, err := m.Apply()
			require.NoError(t, err)
			binary := Build(t, m.Layer(), map[string]string{m.File: text})
			start := time.Now()
			by, red := Run(t, m.Layer(), binary, Patience)
			require.True(t, red, "the tests of %s are green, although: %s", m.Layer(), m.Why)
			t.Logf("caught by %s in %.1f s: %s", by, time.Since(start).Seconds(), m.Why)
		})
	}
}
