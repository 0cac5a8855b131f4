package operator

import (
	"bytes"
	"testing"

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
