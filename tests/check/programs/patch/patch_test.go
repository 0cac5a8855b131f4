package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source is client-go as the programs have it.
func source(t *testing.T) (dir, version string) {
	t.Helper()
	b := builder{module: filepath.Join("..", "..", "kubernetes")}
	dir, version, err := b.clientGo()
	if err != nil {
		t.Fatal(err)
	}
	return dir, version
}

func TestCopy_HasAHookInEveryPlaceAndANameOfItsContents(t *testing.T) {
	from, version := source(t)
	parent := t.TempDir()
	dir, err := makeCopy(parent, from, version)
	if err != nil {
		t.Fatal(err)
	}
	again, err := makeCopy(parent, from, version)
	if err != nil || again != dir {
		t.Errorf("a second copy: want %s, got %s, %v", dir, again, err)
	}
	if left, _ := filepath.Glob(filepath.Join(parent, "*")); len(left) != 1 {
		t.Errorf("want one copy, got %v", left)
	}
	places := map[string]int{"cache.Described(": 0, "askHook(": 0, "hookTransport(": 0, "ReflectorsMade.Add(1)": 0}
	err = filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		for place := range places {
			places[place] += strings.Count(string(text), place)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// The two functions are declared once more.
	for place, want := range map[string]int{"cache.Described(": generatedInformers + 2, "askHook(": 2,
		"hookTransport(": 2, "ReflectorsMade.Add(1)": 1} {
		if places[place] != want {
			t.Errorf("%s: want %d, got %d", place, want, places[place])
		}
	}
}

func TestFindCopy_WritesNothing(t *testing.T) {
	from, version := source(t)
	parent := t.TempDir()
	t.Chdir(parent)
	dir, err := findCopy(filepath.Join(parent, "cache"), from, version)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("want none, got %s, %v", dir, err)
	}
	if left, _ := os.ReadDir(parent); len(left) > 0 {
		t.Errorf("it wrote %v", left)
	}
}

func TestRemoveUnused_KeepsCopiesThatAnotherCheckoutMayBuildWith(t *testing.T) {
	parent, now := t.TempDir(), time.Now()
	copyAt := func(name string, used time.Time) string {
		dir := filepath.Join(parent, "client-go-"+name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{dir + ".mod", dir + ".sum"} {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(dir+".mod", used, used); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	long := now.Add(-48 * time.Hour)
	ours, other := copyAt("v1-a", long), copyAt("v1-b", now)
	copyAt("v1-c", long)
	if err := removeUnused(parent, ours, now.Add(-24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(parent, "*"))
	want := []string{ours, ours + ".mod", ours + ".sum", other, other + ".mod", other + ".sum"}
	if !slices.Equal(left, want) {
		t.Errorf("want %v, got %v", want, left)
	}
}

func TestDescribed_NamesTheNamespaceWhereTheConstructorHasOne(t *testing.T) {
	from, _ := source(t)
	for file, want := range map[string]string{
		"informers/core/v1/pod.go":              "client), client, gvr, namespace, tweakListOptions),",
		"informers/core/v1/node.go":             `client), client, gvr, "", tweakListOptions),`,
		"metadata/metadatainformer/informer.go": "client), client, gvr, namespace, tweakListOptions),",
	} {
		raw, err := os.ReadFile(filepath.Join(from, file))
		if err != nil {
			t.Fatal(err)
		}
		text, err := apply(file, string(raw), patchesOf(file, string(raw)))
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: want %q in it, got none (%v)", file, want, err)
		}
	}
}

func TestApply_RefusesAFileThatHasChanged(t *testing.T) {
	patches := []replacement{{"old", "new"}}
	if got, err := apply("f", "an old text", patches); err != nil || got != "an new text" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, text := range []string{"another text", "old and old"} {
		if _, err := apply("f", text, patches); err == nil || !strings.Contains(err.Error(),
			"look at the patches again") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestCopy_FailsIfAPatchedFileIsGone(t *testing.T) {
	from, _ := source(t)
	some := t.TempDir()
	if err := os.CopyFS(filepath.Join(some, "informers"), os.DirFS(filepath.Join(from, "informers"))); err != nil {
		t.Fatal(err)
	}
	if _, err := copyPatched(t.TempDir(), some); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Errorf("client-go without tools/cache: got %v", err)
	}
	if err := os.Remove(filepath.Join(some, "informers", "core", "v1", "pod.go")); err != nil {
		t.Fatal(err)
	}
	if _, err := copyPatched(t.TempDir(), some); err == nil || !strings.Contains(err.Error(), "146 files") {
		t.Errorf("client-go without pods: got %v", err)
	}
}
