package exercises

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const root = "../.."

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	require.NoError(t, err)
	return string(text)
}

func TestExercises_EachCanBeBlankedAndHasItsPage(t *testing.T) {
	index := read(t, "tests/exercises/README.md")
	for _, e := range All {
		t.Run(e.Folder, func(t *testing.T) {
			text := read(t, e.File)
			blank, line, err := e.With([]byte(text), e.Blank())
			require.NoError(t, err)
			require.Contains(t, strings.Split(string(blank), "\n")[line-1], e.Func+"(")
			require.Contains(t, strings.Split(string(blank), "\n")[line], e.Blank())

			page := read(t, "tests/exercises/"+e.Folder+"/README.md")
			for _, has := range []string{
				"# " + e.Number() + " ", "`" + e.Func + "`", "](../../../" + e.File + ")", "**Needs** ", "**Minutes** ", "## Predict",
				"go run ./tests/exercises/start " + e.Number() + "\n", "go test ./tests/exercises/" + e.Folder + "\n",
				"go test ./" + e.Layer() + "\n", "git diff " + e.File + "\n", "git restore " + e.File + "\n",
			} {
				require.Contains(t, page, has)
			}
			require.Equal(t, 3, strings.Count(page, "<details><summary>Hint "))
			require.Contains(t, index, "("+e.Folder+"/README.md)")
		})
	}
}

func TestWith_KeepsImportsThatOnlyTheOldBodyUsed(t *testing.T) {
	e := Exercise{"99-x", "x/x.go", "f"}
	changed, line, err := e.With([]byte("package x\n\nimport (\n\t\"math\"\n\t\"math/rand/v2\"\n)\n\nvar Pi = math.Pi\n\nfunc f() int {\n\treturn rand.Int()\n}\n"), "return 1")
	require.NoError(t, err)
	require.Equal(t, 10, line)
	require.Equal(t, "package x\n\nimport (\n\t\"math\"\n\t_ \"math/rand/v2\"\n)\n\nvar Pi = math.Pi\n\nfunc f() int {\n\treturn 1\n}\n", string(changed))
	_, _, err = e.With([]byte("package x\n"), "")
	require.ErrorContains(t, err, "0 functions named f")
}
