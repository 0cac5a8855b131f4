package imports

import (
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// repository is the module, without its machine's paths in the messages.
func repository() fs.FS { return os.DirFS("../..") }

func tableOf(t *testing.T, fsys fs.FS) Table {
	t.Helper()
	table, err := ReadTable(fsys)
	require.NoError(t, err)
	return table
}

// none fails with one line for each problem.
func none(t *testing.T, problems []Problem, err error) {
	t.Helper()
	require.NoError(t, err)
	for _, p := range problems {
		t.Error(p)
	}
}

func TestArchitecture_DirectImportsFollowTheTable(t *testing.T) {
	problems, err := CheckImports(repository(), tableOf(t, repository()))
	none(t, problems, err)
}

func TestArchitecture_ClientGoMachineryStaysOutOfTheLayers(t *testing.T) {
	problems, err := CheckMachinery(repository())
	none(t, problems, err)
}

func TestArchitecture_LeavesAreFreeOfKubernetesTransitively(t *testing.T) {
	leaves := tableOf(t, repository()).Leaves()
	require.Subset(t, leaves, []string{"deltafifo", "indexer", "workqueue"})
	for _, leaf := range leaves {
		cmd := exec.Command("go", "list", "-deps", "./"+leaf)
		cmd.Dir = "../.."
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("go list -deps ./%s: %v", leaf, err)
			continue
		}
		none(t, CheckLeaf(leaf, strings.Fields(string(out))), nil)
	}
}

func TestArchitecture_BudgetsHold(t *testing.T) {
	budgets, err := ReadBudgets(repository())
	require.NoError(t, err)
	require.Len(t, budgets.Cores, 7)
	problems, err := CheckBudgets(repository(), budgets)
	none(t, problems, err)
}
