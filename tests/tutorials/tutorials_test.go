package tutorials

import (
	"flag"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"glasswatch/tests/tutorials/play"
)

//go:generate go test . -update

var update = flag.Bool("update", false, "write the files of compat and docs/learn/tutorials.md again")

func TestMain(m *testing.M) {
	flag.Parse()
	// Programs that show a log set klog up themselves. The other default error handler sleeps by a clock that starts
	// outside the bubbles, where the time is decades later.
	klog.SetLogger(logr.Discard())
	utilruntime.ErrorHandlers = nil
	goleak.VerifyTestMain(m)
}

// swaps are the only changes from a file of clientgo to that of compat.
var swaps = strings.NewReplacer(
	"package clientgo", "package compat",
	`"k8s.io/client-go/tools/cache"`, `"glasswatch/compat/cache"`,
	`"k8s.io/client-go/util/workqueue"`, `"glasswatch/compat/workqueue"`,
)

func files(t *testing.T, folder string) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".go")
		if name != "doc" {
			names = append(names, name)
		}
	}
	return names
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// TestCompat_IsClientgoWithItsImportsChanged wants a file in compat for each of clientgo that imports what compat has.
func TestCompat_IsClientgoWithItsImportsChanged(t *testing.T) {
	var want []string
	for _, name := range files(t, "clientgo") {
		original := read(t, filepath.Join("clientgo", name+".go"))
		swapped := swaps.Replace(original)
		if swapped == strings.Replace(original, "package clientgo", "package compat", 1) {
			continue
		}
		want = append(want, name)
		path := filepath.Join("compat", name+".go")
		formatted, err := format.Source([]byte(swapped)) // imports have another order
		require.NoError(t, err)
		if *update {
			require.NoError(t, os.WriteFile(path, formatted, 0o644))
		}
		require.Equal(t, string(formatted), read(t, path), "go test ./tests/tutorials -run Compat -update")
	}
	require.Equal(t, want, files(t, "compat"))
}

// TestTable_HasEveryFile wants each program on the page.
func TestTable_HasEveryFile(t *testing.T) {
	listed := map[string][]string{}
	for _, c := range table {
		for _, p := range c.programs {
			for _, way := range p.ways() {
				listed[way.folder] = append(listed[way.folder], p.file)
			}
		}
	}
	for _, folder := range []string{"clientgo", "compat", "native"} {
		slices.Sort(listed[folder])
		require.Equal(t, listed[folder], files(t, folder), "programs in %s", folder)
	}
}

// way is a program as one of the three folders has it.
type way struct {
	name, folder string
	run          func(*play.Play)
}

func (p program) ways() (ways []way) {
	for _, w := range []way{{"client-go", "clientgo", p.clientgo}, {"compat", "compat", p.compat}, {"native", "native", p.native}} {
		if w.run != nil {
			ways = append(ways, w)
		}
	}
	return ways
}

// outputs runs a program in all its ways, each in a bubble with a cluster of its own.
func (p program) outputs(t *testing.T) (outputs []string) {
	t.Helper()
	for _, w := range p.ways() {
		ended := t.Run(p.file+"/"+w.folder, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := play.New(t)
				w.run(run)
				outputs = append(outputs, run.Output())
			})
		})
		if !ended {
			t.FailNow()
		}
	}
	return outputs
}

// TestOneEvent runs one program alone: tests/check/docs asks which functions it passes, for docs/learn/source-walk.md.
func TestOneEvent(t *testing.T) { require.Len(t, oneEvent.outputs(t), 3) }
