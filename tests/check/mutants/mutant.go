package mutants

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the module, seen from a folder of tests.
const root = "../../.."

// Mutant is one bug.
type Mutant struct {
	Name, File, Why string
	before, after   string // the piece of File without and with the bug
}

// Layer is the folder that the bug is in.
func (m Mutant) Layer() string { return path.Dir(m.File) }

// Apply returns the file with the bug. It must be called from the tests of a folder in tests, as the rest of this package.
func (m Mutant) Apply() (string, error) {
	text, err := read(m.File)
	if err != nil {
		return "", err
	}
	if n := strings.Count(text, m.before); n != 1 {
		return "", fmt.Errorf("mutant %s: its piece of %s is there %d times, not once:\n%s", m.Name, m.File, n, m.before)
	}
	return strings.Replace(text, m.before, m.after, 1), nil
}

// read returns a file of the module.
func read(file string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	return string(text), err
}

// Read returns the mutants in the files that the pattern matches.
func Read(t *testing.T, pattern string) []Mutant {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	var all []Mutant
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, part := range strings.Split("\n"+string(text), "\n== ")[1:] {
			all = append(all, parse(t, name, part))
		}
	}
	return all
}

func parse(t *testing.T, from, text string) Mutant {
	t.Helper()
	head, rest, _ := strings.Cut(text, "\n")
	name, file, ok := strings.Cut(head, " ")
	require.True(t, ok, "%s: %q is not a name and a file", from, head)
	m := Mutant{Name: name, File: file}
	for _, line := range strings.Split(rest, "\n") {
		if line == "" {
			continue
		}
		switch code := line[1:] + "\n"; line[0] {
		case ' ':
			m.before += code
			m.after += code
		case '-':
			m.before += code
		case '+':
			m.after += code
		default:
			m.Why += line + " "
		}
	}
	require.NotEmpty(t, m.Why, "%s: %s does not say what is wrong with it", from, name)
	require.NotEqual(t, m.before, m.after, "%s: %s changes nothing", from, name)
	require.LessOrEqual(t, max(changed(rest, "-"), changed(rest, "+")), 1, "%s: %s is more than one line", from, name)
	return m
}

func changed(text, sign string) int { return strings.Count("\n"+text, "\n"+sign) }
