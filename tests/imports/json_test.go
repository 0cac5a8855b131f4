package imports

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// encoding/json takes Metadata for metadata, which is another field in an object of Kubernetes. Such objects are read with
// k8s.io/apimachinery/pkg/util/json or sigs.k8s.io/json. These files read other things with encoding/json.
var readsNoObjects = map[string]string{
	"cmd/00-toy/toy.go":                  "ConfigMaps, which have no fields but their own, with the standard library alone",
	"cmd/03-watch/wide.go":               "the bounds of lines",
	"cmd/10-customresource/convert.go":   "a number, to show what encoding/json makes of it",
	"cmd/11-logging/child.go":            "a task for a process of its own",
	"cmd/11-logging/flags.go":            "names of flags",
	"cmd/11-logging/zapped.go":           "lines of a log",
	"cmd/internal/demo/child.go":         "a task for a process of its own",
	"cmd/kubectl-lite/words.go":          "a map, whose keys have a case",
	"internal/apiserver/read.go":         "a continue token",
	"internal/lens/look/http.go":         "an act of the page",
	"listwatch/resume/file.go":           "an identity of its own",
	"sharedinformer/checkpoint/codec.go": "a header of its own",
	"tests/chaos/proxy/frame.go":         "the bounds of lines",
}

func TestJSON_ObjectsAreReadByCase(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range goFiles(t) {
		if readsWithEncodingJSON(t, path) {
			name, err := filepath.Rel(root, path)
			require.NoError(t, err)
			name = filepath.ToSlash(name)
			assert.Contains(t, readsNoObjects, name, "it reads with encoding/json: an object?")
			seen[name] = true
		}
	}
	for name := range readsNoObjects {
		assert.True(t, seen[name], "%s does not read with encoding/json", name)
	}
}

// goFiles are those of the module, tests apart.
func goFiles(t *testing.T) (paths []string) {
	t.Helper()
	for _, pkg := range packages(t) {
		for _, file := range pkg.GoFiles {
			paths = append(paths, filepath.Join(pkg.Dir, file))
		}
	}
	return paths
}

// readsWithEncodingJSON: the file calls Unmarshal or NewDecoder of encoding/json.
func readsWithEncodingJSON(t *testing.T, path string) (reads bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	name := ""
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		if imported == "encoding/json" {
			name = "json"
			if spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := selector.X.(*ast.Ident)
		if ok && name != "" && pkg.Name == name && (selector.Sel.Name == "Unmarshal" || selector.Sel.Name == "NewDecoder") {
			reads = true
		}
		return true
	})
	return reads
}
