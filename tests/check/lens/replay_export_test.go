package lens

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens"
)

// exampleFile is an exported session, which runs with the other tests.
const exampleFile = "example_session_test.go"

var exportedSession = regexp.MustCompile("(?s)`(.*)`")

// isExport wants a text to be what the lens writes for the session in it and for what was observed.
func isExport(t *testing.T, text string, observe func(lens.Session) lens.Observed) {
	t.Helper()
	literal := exportedSession.FindStringSubmatch(text)
	require.NotNil(t, literal, text)
	s, err := lens.ReadSession([]byte(literal[1]))
	require.NoError(t, err)
	name, want, err := lens.GoTest(s, observe(s))
	require.NoError(t, err)
	require.Equal(t, string(want), text)
	require.Contains(t, text, "func "+name+"(t *testing.T)")
}

func TestExport_IsTheSessionWithWhatWasObserved(t *testing.T) {
	t.Parallel()
	r := record(t, lens.Options{})
	isExport(t, r.exported, func(lens.Session) lens.Observed { return r.observed })
	require.Contains(t, r.exported, "tombstone")
	if *update {
		require.NoError(t, os.WriteFile(exampleFile, []byte(r.exported), 0o644))
	}
}

// The example is an export, to the letter. Each run of this package's tests plays it.
func TestExport_TheExampleIsOne(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(exampleFile)
	require.NoError(t, err)
	isExport(t, string(text), func(s lens.Session) lens.Observed { return replayed(t, s) })
}
