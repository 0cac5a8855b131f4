package pages

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFill_WritesItsBlocksOnlyAndTellsOfThoseThatDiffer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	const text = "<!-- a remark -->\nHead\n<!-- demo 1 -->\n\nold\n\n<!-- end -->\nMiddle\n<!-- table x -->\nkept\n<!-- end -->\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	require.Equal(t, []string{"demo 1", "table x"}, Names(text))
	require.Equal(t, "<!-- a remark -->\nHead\n\nMiddle\n\n", Without(text))
	made := map[string]string{"demo 1": Code("text", "new\n")}

	require.ErrorContains(t, Fill(file, made, false), `"demo 1" is outdated`)
	require.ErrorContains(t, Fill(file, map[string]string{"demo 2": "x"}, true), `no block "demo 2"`)
	require.ErrorContains(t, Fill(file, map[string]string{"demo 1": "\n"}, true), `nothing to show in "demo 1"`)
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, text, string(got), "nothing is written before all is right")

	require.NoError(t, Fill(file, made, true))
	require.NoError(t, Fill(file, made, false))
	got, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(got), "\nHead\n<!-- demo 1 -->\n\n```text\nnew\n```\n\n<!-- end -->\nMiddle\n<!-- table x -->\nkept\n")
}
