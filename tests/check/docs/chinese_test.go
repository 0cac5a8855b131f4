package docs

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/tests/check/pages"
)

var translated = flag.String("translated", "", "a page that says the same as its original again, such as docs/learn/tour.zh.md")

// stamp says from which text of its original a page was translated. The hash leaves out the blocks that are made from the
// code: they are made anew on both pages.
var stamp = regexp.MustCompile(`<!-- translation of \S+ at sha256 \w+ -->`)

// sample is code, a command or output, which is the same in every language.
var sample = regexp.MustCompile("(?ms)^```(?:text|sh|diff|go)$.*?^```$")

func TestTranslations_AreOfTheirOriginalsPresentText(t *testing.T) {
	var translations []string
	for _, pattern := range []string{"*.zh.md", "docs/*/*.zh.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		translations = append(translations, found...)
	}
	require.Greater(t, len(translations), 5)
	if *translated != "" {
		require.Contains(t, translations, filepath.Join(root, *translated), "-translated names no translation")
	}
	for _, page := range translations {
		original := strings.TrimSuffix(page, ".zh.md") + ".md"
		english, chinese := textOf(t, original), textOf(t, page)
		sum := sha256.Sum256([]byte(pages.Without(english)))
		want := fmt.Sprintf("<!-- translation of %s at sha256 %x -->", filepath.Base(original), sum[:6])
		if page == filepath.Join(root, *translated) {
			chinese = stamp.ReplaceAllString(chinese, want)
			require.NoError(t, os.WriteFile(page, []byte(chinese), 0o644))
		}
		name := strings.TrimPrefix(filepath.ToSlash(page), root+"/")
		if stamp.FindString(chinese) != want {
			t.Errorf("%s is behind %s, whose changes `git log -p` shows. Translate them, then: "+
				"go test -C tests/check ./docs -run Translations -translated %s", name, filepath.Base(original), name)
		}
		assert.Contains(t, english, "]("+filepath.Base(page)+")", "%s does not link to its translation", original)
		assert.Contains(t, chinese, "]("+filepath.Base(original)+")", "%s does not link to its original", name)
		assert.Equal(t, sample.FindAllString(english, -1), sample.FindAllString(chinese, -1), "%s: code and output differ", name)
	}
}

func textOf(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	return string(text)
}
