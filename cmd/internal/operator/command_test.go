package operator

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

func TestCommand_KnowsItsFlags(t *testing.T) {
	p := Program{Name: "test", Version: "v1"}
	var out bytes.Buffer
	require.NoError(t, Command(t.Context(), []string{"--version"}, &out, "Tests.", p))
	require.Equal(t, "v1\n", out.String())
	require.NoError(t, Command(t.Context(), []string{"--help"}, &out, "Tests.", p))
	require.Contains(t, out.String(), "Tests.\n\n")
	require.Contains(t, out.String(), "--leader-elect")
	for _, args := range [][]string{{"--workers=0"}, {"--demo=true"}, {"--nonsense"}} {
		require.ErrorContains(t, Command(t.Context(), args, &out, "Tests.", p), args[0][2:6])
	}
}

func TestCommand_HasFlagsOfTheProgram(t *testing.T) {
	var period time.Duration
	p := Program{Name: "test", Flags: func(fs *pflag.FlagSet) func() error {
		fs.DurationVar(&period, "period", time.Second, "how often")
		return func() error {
			if period < 0 {
				return errors.New("--period: want 0 or more")
			}
			return nil
		}
	}}
	var out bytes.Buffer
	require.NoError(t, Command(t.Context(), []string{"--help"}, &out, "Tests.", p))
	require.Contains(t, out.String(), "--period")
	err := Command(t.Context(), []string{"--period=-1s", "--workers=0"}, &out, "Tests.", p)
	require.ErrorContains(t, err, "--period: want 0 or more")
	require.ErrorContains(t, err, "--workers: want at least 1")
}
