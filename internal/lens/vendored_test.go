package lens

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"regexp"
	"testing"
)

// vendoredRow is a row of page/vendor/README.md: file, and SHA-256 of the file in the npm package.
var vendoredRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|.*\\| `([0-9a-f]{64})` \\|$")

func TestVendor_FilesAreThoseOfThePackages(t *testing.T) {
	readme, err := fs.ReadFile(page, "page/vendor/README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"README.md": ""}
	for _, row := range vendoredRow.FindAllStringSubmatch(string(readme), -1) {
		want[row[1]] = row[2]
	}
	files, err := fs.ReadDir(page, "page/vendor")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		sum, listed := want[file.Name()]
		delete(want, file.Name())
		if !listed {
			t.Errorf("page/vendor/%s has no row in README.md", file.Name())
		}
		if sum == "" {
			continue
		}
		content, err := fs.ReadFile(page, "page/vendor/"+file.Name())
		if err != nil {
			t.Fatal(err)
		}
		if file.Name() == "hooks.mjs" { // README.md says which word is changed
			content = bytes.Replace(content, []byte(`from"./preact.mjs"`), []byte(`from"preact"`), 1)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != sum {
			t.Errorf("page/vendor/%s: want SHA-256 %s, got %s", file.Name(), sum, got)
		}
	}
	for file := range want {
		t.Errorf("page/vendor/README.md lists %s, which is not there", file)
	}
}
