package lens

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"glasswatch/internal/lens/look"
)

// placeRow is a function in page/places.js: its file, and how its first line begins.
var placeRow = regexp.MustCompile(`(?m)^ +\['([^']+\.go)', '([^']+)'\],$`)

// boxRow is a box there, with the boundary that leads into it and those that belong to it.
var boxRow = regexp.MustCompile(`(?m)^  \{ id: '(\w+)', from: '(\w+)', at: \[([^\]]+)\], code: \[$`)

func places(t *testing.T) string {
	t.Helper()
	text, err := fs.ReadFile(page, "page/places.js")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPlaces_NameFunctionsThatAreThere(t *testing.T) {
	rows := placeRow.FindAllStringSubmatch(places(t), -1)
	if want := strings.Count(places(t), ".go', 'func "); len(rows) != want || want == 0 {
		t.Fatalf("want all %d functions to be read, got %d", want, len(rows))
	}
	for _, row := range rows {
		text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(row[1])))
		if err != nil || !strings.Contains(string(text), "\n"+row[2]) {
			t.Errorf("%s has no %q, which page/places.js names: %v", row[1], row[2], err)
		}
	}
}

func TestPlaces_HaveEachBoundaryOnce(t *testing.T) {
	var got []string
	for _, box := range boxRow.FindAllStringSubmatch(places(t), -1) {
		for _, at := range strings.Split(box[3], ", ") {
			got = append(got, strings.Trim(at, "'"))
		}
	}
	want := []string{}
	for _, at := range look.Boundaries {
		want = append(want, string(at))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("want the boundaries %q, got %q", want, got)
	}
}
