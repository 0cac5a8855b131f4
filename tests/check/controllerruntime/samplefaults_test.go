package controllerruntime

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var allFaults = flag.Bool("samplecontroller.all", false, "play the sample-controller under all faults, and print what is found")

// A Foo is deleted, and the controller does not know for six minutes: it creates the Deployment, which is collected, and creates it again. The
// program is as upstream wrote it, on client-go. The test is put beside it, since it is a main. One processor: NewController writes into
// client-go's global scheme, which two plays at a time must not do.
func TestSampleController_CreatesWhatIsCollectedInALoop(t *testing.T) {
	modfile := swapped(t)
	dir := filepath.Join(filepath.Dir(modfile), "sample-controller")
	require.NoError(t, os.CopyFS(dir, os.DirFS(moduleDir(t, "k8s.io/sample-controller"))))
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/samplecontroller")))
	command(t, "mod", "edit", "-replace=k8s.io/sample-controller="+dir, modfile)
	args := []string{"test", "-mod=mod", "-modfile=" + modfile, "-count=1", "-cpu=1", "-v", "-run", "^TestFaults$", "k8s.io/sample-controller"}
	if *allFaults {
		args = append(args, "-allfaults")
	}
	out := command(t, args...)
	require.Contains(t, out, "--- PASS: TestFaults")
	t.Log(out)
}
