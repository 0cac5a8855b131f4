package lens

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// lensFolder is the folder of the page and its scripts.
const lensFolder = "../../../internal/lens"

// node runs a script of testdata. What it prints is wrong with the page.
func node(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is needed: apt-get install nodejs")
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = lensFolder
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	return string(out)
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

func TestMotion_ADotGoesFromBoxToBox(t *testing.T) {
	if out := node(t, "testdata/motion/check.mjs", "page/motion.js"); out != "" {
		t.Error(out)
	}
}

func TestVersions_OnlyWhatIsKnownDiffers(t *testing.T) {
	if out := node(t, "testdata/versions/check.mjs", "page/versions.js"); out != "" {
		t.Error(out)
	}
}

func TestPast_IsWhatItWas(t *testing.T) {
	files, err := filepath.Glob(lensFolder + "/testdata/fold/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	args := []string{"testdata/past/check.mjs", "page/fold.js", "page/past.js"}
	for _, file := range files {
		args = append(args, "testdata/fold/"+filepath.Base(file))
	}
	if out := node(t, args...); out != "" {
		t.Error(out)
	}
}

func TestLook_TellsWhatIsSlowAndWhy(t *testing.T) {
	if out := node(t, "testdata/look/check.mjs", "page/look.js"); out != "" {
		t.Error(out)
	}
}

func TestShare_ALinkCarriesTheSessionAndTheMoment(t *testing.T) {
	if out := node(t, "testdata/share/check.mjs", "page/share.js"); out != "" {
		t.Error(out)
	}
}
