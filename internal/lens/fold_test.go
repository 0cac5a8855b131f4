package lens

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// The page folds the stream into its state. Node runs the same check as the browser.
func TestFold_MakesTheViewsOfTheGoldenFiles(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed; apt-get install nodejs")
	}
	files, err := filepath.Glob("testdata/fold/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("want golden files, got %q, %v", files, err)
	}
	args := append([]string{"testdata/fold/check.mjs", "page/fold.js"}, files...)
	if out, err := exec.Command(node, args...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%sIf the views are right: node testdata/fold/check.mjs -write page/fold.js testdata/fold/*.json", err, out)
	}
}
