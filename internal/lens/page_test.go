package lens

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens/look"
)

// node runs a script of testdata. What it prints is wrong with the page.
func node(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed; apt-get install nodejs")
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	return string(out)
}

// The page folds the stream into its state. A browser can run the same check.
func TestFold_MakesTheViewsOfTheGoldenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/fold/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("want golden files, got %q, %v", files, err)
	}
	if out := node(t, append([]string{"testdata/fold/check.mjs", "page/fold.js"}, files...)...); out != "" {
		t.Errorf("%sIf the views are right: node testdata/fold/check.mjs -write page/fold.js testdata/fold/*.json", out)
	}
}

func TestWords_AreTheSameInBothLanguages(t *testing.T) {
	if out := node(t, "testdata/words/check.mjs", "page"); out != "" {
		t.Error(out)
	}
}

func TestConnection_ReadsOneStreamAtATime(t *testing.T) {
	if out := node(t, "testdata/connection/check.mjs", "page/connection.js"); out != "" {
		t.Error(out)
	}
}

func TestHandler_ChangesNothingByGet(t *testing.T) {
	v := visit(t, Options{})
	answer := v.request("GET", "/act/pause", "")
	defer answer.Body.Close()
	assert.NotEqual(t, 200, answer.StatusCode)
	var now look.Snapshot
	v.ask("GET", "/api/snapshot", "", &now)
	assert.Equal(t, "run", now.Gate.Mode)
}

func TestPage_HasNoInlineScripts(t *testing.T) {
	index, err := page.ReadFile("page/index.html")
	require.NoError(t, err)
	for line := range strings.Lines(string(index)) {
		if strings.Contains(line, "<script") {
			assert.Contains(t, line, "src=", "the policy refuses it")
		}
		assert.NotContains(t, line, "style=", "the policy refuses it")
	}
}
