// Package external uses the layers the way another module does.
package external

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const program = `package main

import (
	"fmt"

	"glasswatch/indexer"
	"glasswatch/workqueue"
)

func main() {
	store := indexer.New(indexer.Options[string, string]{KeyFunc: func(s string) (string, error) { return s, nil }})
	if err := store.Add("web"); err != nil {
		panic(err)
	}
	queue := workqueue.New(workqueue.Options[string]{})
	for _, key := range store.List() {
		queue.Add(key)
	}
	item, _ := queue.Get()
	fmt.Println(item)
}
`

// around is what the README's snippet leaves out.
const around = `package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

var _ = func(ctx context.Context, config *rest.Config) error {
%s	return services.Run(ctx)
}
`

// The steps are those of docs/use/modules.md.
func TestExternal_AnotherModuleUsesALayerThroughReplace(t *testing.T) {
	checkout, err := filepath.Abs("../../..")
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(checkout, "docs", "use", "modules.md"))
	require.NoError(t, err)
	edit := []string{"mod", "edit", "-require", "glasswatch@v0.0.0", "-replace", "glasswatch=/path/to/glasswatch"}
	require.Contains(t, string(page), "go "+strings.Join(edit, " "),
		"the page tells other steps than this test takes")
	edit[len(edit)-1] = "glasswatch=" + checkout

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	_, snippet, found := strings.Cut(string(page), "```go\n")
	require.True(t, found, "the page shows no Go code")
	snippet, _, _ = strings.Cut(snippet, "```")
	snippet = fmt.Sprintf(around, snippet)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "snippet.go"), []byte(snippet), 0o600))
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod "+os.Getenv("GOFLAGS"), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "go %s: %s", strings.Join(args, " "), out)
		return string(out)
	}
	run("mod", "init", "example.com/elsewhere")
	run(edit...)
	run("mod", "tidy")
	require.Equal(t, "web\n", run("run", "."))
}
