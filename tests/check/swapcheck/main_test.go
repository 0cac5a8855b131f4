package main

import (
	"bytes"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/compat"
)

var lineOf = regexp.MustCompile(`^([\w/]+\.go:\d+):\d+: ([\w.]+: different: \S.*)\n?$`)

// swapcheck runs the command, and returns its lines, with the row's words cut off.
func swapcheck(t *testing.T, args ...string) (status int, uses []string, stderr string) {
	t.Helper()
	var stdout, errors bytes.Buffer
	status = run(args, &stdout, &errors)
	list, _, _ := strings.Cut(stdout.String(), "\n\nThese rows refer to:\n")
	for line := range strings.Lines(list) {
		m := lineOf.FindStringSubmatch(line)
		require.NotNil(t, m, "%q is no line of the list", line)
		name, _, _ := strings.Cut(m[2], ":")
		uses = append(uses, m[1]+" "+name)
	}
	return status, uses, errors.String()
}

// at finds the lines of a file that contain text, as swapcheck names them.
func at(t *testing.T, module, file, text string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(module, file))
	require.NoError(t, err)
	for i, line := range strings.Split(string(content), "\n") {
		if strings.Contains(line, text) {
			return file + ":" + strconv.Itoa(i+1)
		}
	}
	require.Fail(t, "the line is not there", "%s: %s", file, text)
	return ""
}

func TestSwapcheck_IsRightOnTheThreeWays(t *testing.T) {
	ways := filepath.Join("..", "external")

	for _, module := range []string{"factory", "manager"} {
		status, uses, stderr := swapcheck(t, filepath.Join(ways, module))
		require.Equal(t, nothingDiffers, status, stderr)
		require.Empty(t, uses)
		require.Regexp(t, `^0 of \d+ uses differ\n$`, stderr, "the version of client-go is a known one")
	}

	direct := filepath.Join(ways, "direct")
	status, uses, stderr := swapcheck(t, direct)
	require.Equal(t, usesDiffer, status, stderr)
	require.Regexp(t, `^8 of [1-9]\d uses differ\n$`, stderr, "all are seen, those that are the same, too")
	var want []string
	for _, file := range []string{"after/main.go", "before/main.go"} {
		want = append(want,
			at(t, direct, file, "NewTypedRateLimitingQueueWithConfig(")+
				" workqueue.NewTypedRateLimitingQueueWithConfig",
			at(t, direct, file, "DefaultTypedControllerRateLimiter[")+" workqueue.DefaultTypedControllerRateLimiter",
			at(t, direct, file, "NewSharedIndexInformer(")+" cache.NewSharedIndexInformer",
			at(t, direct, file, "queue.Done(")+" workqueue.TypedInterface.Done")
	}
	require.Equal(t, want, uses)
}

func TestReport_HasTheRowsThatOthersReferTo(t *testing.T) {
	const path = "k8s.io/client-go/tools/cache"
	row := func(name, class, words string) compat.Row { return compat.Row{Name: name, Class: class, Words: words} }
	table := []compat.Row{
		row("A", "different", "as `C`, or as `Same`"),
		row("B", "different", "as `A`"),
		row("C", "different", "with more, on this package's `D`"),
		row("D", "different", "as in `A`, whose `B.Field` differs"),
		row("B.Field", "different", "is not used; `panic(nil)`"),
		row("E", "different", "is named by none"),
		row("Same", "same", "as `E`"),
	}
	r := report{tables: map[string][]compat.Row{path: table}}
	require.Equal(t, []string{
		"cache.B.Field: different: is not used; `panic(nil)`\n",
		"cache.C: different: with more, on this package's `D`\n",
		"cache.D: different: as in `A`, whose `B.Field` differs\n",
	}, r.referred([]use{{path: path, row: table[0]}, {path: path, row: table[1]}}))
}

func TestSorted_ListsEachUseOnceInTheOrderOfTheFiles(t *testing.T) {
	fset := token.NewFileSet()
	fileOf := func(name string) *token.File {
		file := fset.AddFile(name, -1, 100)
		file.SetLines([]int{0, 10, 20})
		return file
	}
	// A package is read by itself and with its tests: its files are there twice.
	b, a, again := fileOf("b.go"), fileOf("a.go"), fileOf("a.go")
	at := func(file *token.File, offset int, name string) use {
		return use{pos: file.Pos(offset), row: compat.Row{Name: name}}
	}
	uses := []use{
		at(b, 1, "X"), at(a, 12, "Y"), at(a, 15, "Z"), at(a, 3, "W"), at(again, 15, "Z"), at(again, 3, "W"),
	}
	var got []string
	for _, u := range sorted(fset, uses) {
		got = append(got, fmt.Sprint(fset.Position(u.pos), " ", u.row.Name))
	}
	require.Equal(t, []string{"a.go:1:4 W", "a.go:2:3 Y", "a.go:2:6 Z", "b.go:1:2 X"}, got)
}

// write makes a folder of files.
func write(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return dir
}

func TestSwapcheck_SaysWhatItCannotCheck(t *testing.T) {
	t.Setenv("GOWORK", "")
	const mod = "module example.com/broken\n\ngo 1.26.0\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		args  []string
		want  string
	}{
		{"no module", map[string]string{"main.go": "package main\n"}, nil, "is in no Go module: there is no go.mod"},
		{"a workspace", map[string]string{"go.work": "go 1.26.0\n\nuse ./a\n", "a/go.mod": mod, "a/a.go": "package a\n"}, nil,
			"is in a workspace, but in no module of it: name a folder of a module"},
		{"no package", map[string]string{"go.mod": mod}, nil, "has no Go packages"},
		{"a type error", map[string]string{"go.mod": mod, "a.go": "package a\n\nvar A int = \"a\"\n"}, nil,
			"a.go:3:13: cannot use"},
		{"a syntax error", map[string]string{"go.mod": mod, "a.go": "package a\n\nvar = 1\n"}, nil, "a.go:3:5: "},
		{"a broken test",
			map[string]string{"go.mod": mod, "a.go": "package a\n", "a_test.go": "package a\n\nvar _ = none\n"}, nil,
			"a_test.go:3:9: undefined: none"},
		{"a module that is not required",
			map[string]string{"go.mod": mod, "a.go": "package a\n\nimport _ \"k8s.io/client-go/tools/cache\"\n"},
			nil, "no required module provides package k8s.io/client-go"},
		{"a bad go.mod", map[string]string{"go.mod": "modul x\n", "a.go": "package a\n"}, nil,
			"unknown directive: modul"},
		{"no folder", nil, []string{"/nowhere/at/all"}, "/nowhere/at/all: no such file"},
		{"a file", nil, []string{"main_test.go"}, "main_test.go is no folder"},
		{"two folders", nil, []string{".", ".."}, "usage: go run -C GLASSWATCH/tests/check ./swapcheck DIR"},
		{"an unknown flag", nil, []string{"--fix"}, "usage: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := c.args
			if c.files != nil {
				args = []string{write(t, c.files)}
			}
			status, uses, stderr := swapcheck(t, args...)
			require.Equal(t, failed, status)
			require.Empty(t, uses)
			require.Contains(t, stderr, c.want)
		})
	}
}

func TestSwapcheck_ShowsTenErrorsOfAModuleThatDoesNotCompile(t *testing.T) {
	dir := write(t, map[string]string{
		"go.mod": "module example.com/broken\n\ngo 1.26.0\n",
		"a.go":   "package a\n" + strings.Repeat("\nvar _ = none\n", 10+3),
		// With this the package is read twice.
		"a_test.go": "package a\n",
	})
	_, _, stderr := swapcheck(t, dir)
	require.Equal(t, shown, strings.Count(stderr, "undefined: none"))
	require.Contains(t, stderr, "and 3 more")
}

func TestSwapcheck_NamesTheModulesBelowThatItDoesNotRead(t *testing.T) {
	t.Setenv("GOWORK", "")
	mod := func(name string) string { return "module example.com/" + name + "\n\ngo 1.26.0\n" }
	_, _, stderr := swapcheck(t, write(t, map[string]string{
		"go.mod": mod("whole"), "a.go": "package a\n",
		"sub/go.mod": mod("sub"), "sub/a.go": "package a\n",
		"sub/vendor/go.mod": mod("vendored"), "testdata/go.mod": mod("data"), ".hidden/go.mod": mod("hidden"),
	}))
	require.Equal(t, "0 of 0 uses differ\nnot read: sub/go.mod is of another module\n", stderr)
}

func TestSwapcheck_ReadsForTheSystemThatTheEnvironmentNames(t *testing.T) {
	t.Setenv("GOWORK", "off")
	dir := write(t, map[string]string{
		"go.mod": "module example.com/systems\n\ngo 1.26.0\n", "a.go": "package a\n",
		"a_windows.go": "package a\n\nvar _ = none\n",
	})
	for system, want := range map[string]int{"linux": nothingDiffers, "windows": failed} {
		t.Setenv("GOOS", system)
		status, _, stderr := swapcheck(t, dir)
		require.Equal(t, want, status, "%s: %s", system, stderr)
	}
}

// user is a program with client-go's names that differ in ways that only few programs meet.
const user = `package user

import (
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func queues(kept workqueue.TypedRateLimitingInterface[string], x any) {
	queue := workqueue.NewTyped[string]()
	queue.Done("never taken")
	queue.ShutDownWithDrain()
	old := workqueue.New()
	old.ShutDownWithDrain()
	kept.Done("never taken")
	_, _ = x.(*cache.DeltaFIFO)
	_ = workqueue.NewDelayingQueue()
	_ = cache.HandlerOptions{Logger: nil}
}
`

func TestSwapcheck_FindsWhatTheRealTablesSay(t *testing.T) {
	t.Setenv("GOWORK", "off")
	direct := filepath.Join("..", "external", "direct")
	files := map[string]string{"user.go": user}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(direct, name))
		require.NoError(t, err)
		files[name] = string(text)
	}
	checkout, err := filepath.Abs(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	files["go.mod"] = strings.Replace(files["go.mod"], "glasswatch => ../../../..", "glasswatch => "+checkout, 1)
	dir := write(t, files)
	status, uses, stderr := swapcheck(t, dir)
	require.Equal(t, usesDiffer, status, stderr)
	require.Equal(t, []string{
		at(t, dir, "user.go", "queue.Done") + " workqueue.Typed.Done",
		at(t, dir, "user.go", "kept.Done") + " workqueue.TypedInterface.Done",
		at(t, dir, "user.go", "x.(*cache.DeltaFIFO)") + " cache.DeltaFIFO",
		at(t, dir, "user.go", "NewDelayingQueue") + " workqueue.NewDelayingQueue",
	}, uses)
}

func TestSwapcheck_ADirIsRelativeToWhereTheUserIs(t *testing.T) {
	dir := write(t, map[string]string{"go.mod": "module example.com/empty\n\ngo 1.26.0\n", "a.go": "package a\n"})
	t.Setenv("PWD", dir) // and the working directory is another, as after go run -C
	for _, args := range [][]string{{"."}, {}, {filepath.Join("..", filepath.Base(dir))}} {
		status, uses, stderr := swapcheck(t, args...)
		require.Equal(t, nothingDiffers, status, stderr)
		require.Empty(t, uses)
		require.Equal(t, "0 of 0 uses differ\n", stderr)
	}
}

func TestSwapcheck_WarnsOfAVersionOfClientGoThatItDoesNotKnow(t *testing.T) {
	for version, warns := range map[string]bool{"": false, "v0.37.9": false, "v0.38.0": true, "v0.3.0": true} {
		var stdout, stderr bytes.Buffer
		report{version: version}.print(&stdout, &stderr)
		require.Equal(t, warns, strings.Contains(stderr.String(), "client-go "+version+", but"), version)
	}
	r, err := check(filepath.Join("..", "external", "direct"))
	require.NoError(t, err)
	require.Equal(t, knows+"2", r.version)
	mod, err := os.ReadFile(filepath.Join("..", "..", "..", "go.mod"))
	require.NoError(t, err)
	require.Contains(t, string(mod), "\tk8s.io/client-go "+r.version+"\n", "the tables are about another version")
}
