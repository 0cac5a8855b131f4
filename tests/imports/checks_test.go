package imports

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// small is a page about a repository of few packages.
const small = `
| package | what it is | knows of Kubernetes? | imports of ours |
|---|---|---|---|
| ''leaf'' | | no | none |
| ''layer'' | | yes | ''leaf'' |
| ''compat/…'' | | yes | the layers |
| ''tests/…'' | | | anything |

| core | lines, tests apart |
|---|---|
| ''leaf'' | 6 |
| ''layer'' | 10 |

| limit | at most |
|---|---|
| lines of all layers | 16 |
| tokens of the cores | 30 |
| columns | 40 |
| lines of a function | 3 |
| percent comment or blank | 20 |
`

// sound is a repository that keeps to the page.
func sound() fstest.MapFS {
	return files(map[string]string{
		page:                         strings.ReplaceAll(small, "''", "`"),
		"leaf/leaf.go":               "// Package leaf.\npackage leaf\n\nfunc F() {\n}\n",
		"leaf/leaf_test.go":          "package leaf\n\nimport _ \"glasswatch/layer\"\n",
		"layer/layer.go":             "package layer\n\nimport \"glasswatch/leaf\"\n\nvar _ = leaf.F\n",
		"layer/testdata/x.go":        "not Go",
		"compat/cache/cache.go":      "package cache\n\nimport (\n\t_ \"glasswatch/layer\"\n\t_ \"k8s.io/client-go/tools/cache\"\n)\n",
		"compat/cache/in/in.go":      "package in\n\nimport _ \"glasswatch/compat/cache\"\n",
		"tests/check/bench/bench.go": "package bench\n\nimport _ \"glasswatch/compat/cache\"\n",
		"layer/ingress/large.go":     "package ingress" + strings.Repeat("\n", 100) + "// uncounted\n",
	})
}

func files(texts map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for name, text := range texts {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// broken is sound with one file changed.
func broken(file, text string) fstest.MapFS {
	all := sound()
	all[file] = &fstest.MapFile{Data: []byte(text)}
	return all
}

// all runs every check that reads a repository.
func all(fsys fstest.MapFS) (problems []string) {
	table, err := ReadTable(fsys)
	if err != nil {
		return []string{err.Error()}
	}
	budgets, err := ReadBudgets(fsys)
	if err != nil {
		return []string{err.Error()}
	}
	add := func(found []Problem, err error) {
		for _, p := range found {
			problems = append(problems, p.String())
		}
		if err != nil {
			problems = append(problems, err.Error())
		}
	}
	add(CheckImports(fsys, table))
	add(CheckMachinery(fsys))
	add(CheckBudgets(fsys, budgets))
	return problems
}

func TestChecks_ASoundRepositoryHasNoProblems(t *testing.T) {
	fsys := sound()
	fsys["layer/ingress/large.go"].Data = []byte("package ingress\n")
	require.Equal(t, []string{"ARCHITECTURE.md: expected a row for layer/ingress, came none"}, all(fsys))
	delete(fsys, "layer/ingress/large.go")
	require.Empty(t, all(fsys))
}

func TestChecks_EachNamesWhereWhatWasExpectedAndWhatCame(t *testing.T) {
	leaf := func(body string) string { return "// Package leaf.\npackage leaf\n" + body }
	for _, c := range []struct{ name, file, text, want string }{
		{"a leaf imports a layer", "leaf/leaf.go", leaf("\nimport _ \"glasswatch/layer\"\n"),
			"leaf/leaf.go: expected no import of ours, came layer"},
		{"a layer imports a facade", "layer/layer.go", "package layer\n\nimport _ \"glasswatch/compat/cache\"\n",
			"layer/layer.go: expected imports of leaf only, came compat/cache"},
		{"a facade imports tests", "compat/cache/in/in.go", "package in\n\nimport _ \"glasswatch/tests/check/bench\"\n",
			"compat/cache/in/in.go: expected imports of leaf, layer only, came tests/check/bench"},
		{"a package without a row", "layer/part/part.go", "package part\n\nimport \"fmt\"\n",
			"ARCHITECTURE.md: expected a row for layer/part, came none"},
		{"machinery in a layer", "layer/layer.go", "package layer\n\nimport _ \"k8s.io/client-go/util/workqueue\"\n",
			"layer/layer.go: expected no machinery of client-go but in compat, internal/lens/beside, tests, came k8s.io/client-go/util/workqueue"},
		{"a core with a line too many", "leaf/leaf.go", leaf("\n\n\n\n\nvar X int\n"),
			"leaf: expected at most 6 lines, came 8"},
		{"a line too wide, the tab being four columns", "leaf/leaf.go", leaf("\n\t" + "// " + strings.Repeat("ä", 34) + "\n"),
			"leaf/leaf.go:4: expected at most 40 columns, came 41"},
		{"a function too long", "leaf/leaf.go", leaf("func F() {\n\n\n}\n"),
			"leaf/leaf.go:3: F: expected at most 3 lines, came 4"},
		{"too few comments", "leaf/leaf.go", "package leaf\n\nvar a int\nvar b int\nvar c int\nvar d int\n",
			"leaf: expected at least 20 % comment or blank, came 16 %"},
		{"too many tokens", "leaf/leaf.go", leaf("\nvar _ = 1+2+3+4+5+6+7+8+9\n"),
			"the cores: expected at most 30 Go tokens, came 32"},
		{"too many lines below a core", "compat/x.go", "package compat\n", ""},
		{"a file that is not Go", "leaf/leaf.go", "pakcage leaf\n", "leaf/leaf.go:1:1: expected 'package', found pakcage"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := broken(c.file, c.text)
			delete(fsys, "layer/ingress/large.go")
			if c.want == "" {
				require.Empty(t, all(fsys))
				return
			}
			require.Contains(t, strings.Join(all(fsys), "\n"), c.want)
		})
	}
}

func TestChecks_LinesBelowACoreCountAmongAll(t *testing.T) {
	fsys := broken("layer/part/part.go", "package part\n"+strings.Repeat("\n", 20)+"var X int\n")
	require.Contains(t, all(fsys), "all layers: expected at most 16 lines, came 32")
	require.NotContains(t, strings.Join(all(fsys), "\n"), "layer: expected at most 10 lines", "what is below has no budget of its own")
}

func TestChecks_ALeafDependsOnNothingOfKubernetes(t *testing.T) {
	require.Empty(t, CheckLeaf("leaf", []string{"fmt", "glasswatch/leaf"}))
	for _, dep := range []string{"k8s.io/api/core/v1", "sigs.k8s.io/json"} {
		got := CheckLeaf("leaf", []string{dep, "glasswatch/leaf"})
		require.Equal(t, []Problem{{"leaf", "nothing of Kubernetes among all dependencies", dep}}, got)
	}
	require.NotEmpty(t, CheckLeaf("leaf", nil), "a leaf that is not there is not clean")
	require.Equal(t, []string{"leaf"}, tableOf(t, sound()).Leaves())
}

func TestChecks_APageThatSaysNothingIsAnError(t *testing.T) {
	good := strings.ReplaceAll(small, "''", "`")
	for _, c := range []struct{ was, is, want string }{
		{"| package |", "| folder |", `a table whose first column is called "package"`},
		{"| core |", "| root |", `a table whose first column is called "core"`},
		{"| limit |", "| border |", `a table whose first column is called "limit"`},
		{"| columns | 40 |\n", "", `a row "columns" among the limits, found none`},
		{"| columns | 40 |", "| colums | 40 |", `a limit that is checked, came "colums"`},
		{"| columns | 40 |", "| columns | many |", `a number in the row columns, came "many"`},
		{"| `layer` | 10 |", "| `layer` | 0 |", "a number in the row `layer`"},
		{"| yes | `leaf` |", "| yes | leaf |", `expected packages in backquotes`},
		{"| `layer` | | yes | `leaf` |", "| `layer` | yes | `leaf` |", "expected four columns, came 3"},
		{"| `layer` | | yes |", "| `layer` `gone` | | yes |", "expected a package for the row gone, came none"},
	} {
		t.Run(fmt.Sprintf("%q", c.is), func(t *testing.T) {
			require.Contains(t, good, c.was)
			require.Contains(t, strings.Join(all(broken(page, strings.Replace(good, c.was, c.is, 1))), "\n"), c.want)
		})
	}
}
