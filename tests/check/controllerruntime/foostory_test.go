package controllerruntime

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/cmd/foo-controller/foostory"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/tests/check/controlplane"
)

// It is upstream's program, unchanged, on client-go.
func TestSampleController_PlaysTheStoryThatOursPlays(t *testing.T) {
	program := filepath.Join(t.TempDir(), "sample-controller")
	command(t, "build", "-o", program, "k8s.io/sample-controller")
	t.Run("in process", func(t *testing.T) {
		s := apiservertest.StartOnSocket(t, apiserver.Options{})
		require.Equal(t, foostory.Golden, foostory.Story(t, s.Config, "foo-story",
			foostory.Process(program, "--kubeconfig="+s.Kubeconfig())))
	})
	t.Run("on a real API server", func(t *testing.T) {
		plane := controlplane.Start(t)
		upstream := foostory.Process(program, "--kubeconfig="+plane.Kubeconfig(controlplane.Admin))
		require.Equal(t, foostory.Golden, foostory.Story(t, plane.Config(controlplane.Admin), "foo-story", upstream))
	})
}

// The page says how much upstream's generators have written, and quotes it.
func TestPage_CountsAndQuotesWhatUpstreamGenerated(t *testing.T) {
	root := filepath.Join(strings.TrimSpace(command(t, "list", "-m", "-f", "{{.Dir}}", "k8s.io/sample-controller")),
		"pkg")
	all := ""
	count := func(folder string) (files, lines int) {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder),
			func(path string, d fs.DirEntry, err error) error {
				if err != nil || !strings.HasSuffix(path, ".go") {
					return err
				}
				text, err := os.ReadFile(path)
				files, lines, all = files+1, lines+strings.Count(string(text), "\n"), all+string(text)
				return err
			}))
		return files, lines
	}
	for _, name := range []string{"foo-controller.md", "foo-controller.zh.md"} {
		page, err := os.ReadFile("../../../docs/learn/" + name)
		require.NoError(t, err)
		row := regexp.MustCompile("(?m)^\\| [^|]+-gen[^|]* \\| `([a-z/]+)` \\| (\\d+) \\| (\\d+) \\|")
		rows := row.FindAllStringSubmatch(string(page), -1)
		require.Len(t, rows, 6, name)
		for _, row := range rows {
			files, lines := count(row[1])
			require.Equal(t, []string{row[2], row[3]}, []string{fmt.Sprint(files), fmt.Sprint(lines)}, "%s: %s", name,
				row[1])
		}
		for _, quoted := range []string{"NewFilteredFooInformer", "type FooInterface interface", "type foos struct",
			"type FooLister interface",
			`v1alpha1.Resource("foo")`, "NewForConfigOrDie", "setConfigDefaults", "type FooInformer interface"} {
			require.Contains(t, string(page), quoted, name)
			require.Contains(t, all, strings.TrimPrefix(quoted, "v1alpha1."), "upstream generates it no more")
		}
	}
}
