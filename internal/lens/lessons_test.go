package lens

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens/look"
)

// lesson is what a test without JavaScript reads of one.
type lesson struct {
	code          string
	file          string
	answers       int
	right         int
	english, zhCN text
}

// text is a lesson's text in one language.
type text struct {
	markdown string
	sections int
	answers  int
	wrong    []int // the answers of which a section says why they are not right
}

var (
	codeField = func(name string) *regexp.Regexp { return regexp.MustCompile(`(?m)^  ` + name + `: '?([^',]+)'?,$`) }
	answered  = regexp.MustCompile(`(?m)^(\d)\. `)
	acted     = regexp.MustCompile(`\bact\('(\w+)'`)
	faulted   = regexp.MustCompile(`\b(?:fault|mend)\('(\w+)'`)
	filed     = regexp.MustCompile("`([a-z_/]+\\.go)`")
	placed    = regexp.MustCompile("((?:`\\w+`(?: and )?)+) in `([a-z_/]+\\.go)`")
)

// sections are state, question, explanation, goal, hint, why the wrong answers are wrong, why the moment that decides does so, and
// why the goal was reached.
const (
	sections = 8
	wrong    = 5
)

func field(t *testing.T, file, code, name string) string {
	t.Helper()
	found := codeField(name).FindStringSubmatch(code)
	require.NotNil(t, found, "%s has no %s", file, name)
	return found[1]
}

func number(t *testing.T, file, code, name string) int {
	t.Helper()
	n, err := strconv.Atoi(field(t, file, code, name))
	require.NoError(t, err)
	return n
}

func readText(t *testing.T, name string) text {
	t.Helper()
	markdown, err := os.ReadFile("page/lessons/" + name)
	require.NoError(t, err)
	x := text{markdown: string(markdown), sections: strings.Count(string(markdown), "\n## ")}
	require.True(t, strings.HasPrefix(x.markdown, "# "), "%s has no title", name)
	for i, section := range strings.Split(x.markdown, "\n## ")[1:] {
		found := answered.FindAllStringSubmatch(section, -1)
		if i == wrong {
			for _, a := range found {
				n, err := strconv.Atoi(a[1])
				require.NoError(t, err)
				x.wrong = append(x.wrong, n)
			}
			continue
		}
		require.True(t, i == 1 || len(found) == 0, "%s: answers stand in the second section", name)
		for n, a := range found {
			require.Equal(t, strconv.Itoa(n+1), a[1], "%s: answers are counted", name)
		}
		x.answers += len(found)
	}
	return x
}

func readLessons(t *testing.T) []lesson {
	t.Helper()
	files, err := filepath.Glob("page/lessons/[0-9][0-9]-*.js")
	require.NoError(t, err)
	require.Len(t, files, 14)
	var all []lesson
	for _, file := range files {
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		l := lesson{code: string(code), file: strings.TrimSuffix(filepath.Base(file), ".js")}
		require.Equal(t, l.file[len("01-"):], field(t, file, l.code, "id"), "the texts stand beside the lesson")
		l.right = number(t, file, l.code, "right")
		l.english, l.zhCN = readText(t, l.file+".en.md"), readText(t, l.file+".zh.md")
		l.answers = l.english.answers
		all = append(all, l)
	}
	return all
}

func TestLessons_BothLanguagesHaveTheSameParts(t *testing.T) {
	for _, l := range readLessons(t) {
		for language, x := range map[string]text{"en": l.english, "zh": l.zhCN} {
			require.Equal(t, sections, x.sections, "%s.%s", l.file, language)
			require.Equal(t, l.answers, x.answers, "%s.%s", l.file, language)
			require.Len(t, x.wrong, l.answers-1, "%s.%s: each wrong answer has its word", l.file, language)
			require.NotContains(t, x.wrong, l.right, "%s.%s", l.file, language)
		}
		require.Contains(t, []int{3, 4}, l.answers, l.file)
		require.LessOrEqual(t, 1, l.right, l.file)
		require.LessOrEqual(t, l.right, l.answers, l.file)
		require.Equal(t, filed.FindAllString(l.english.markdown, -1), filed.FindAllString(l.zhCN.markdown, -1), l.file)
	}
}

func TestLessons_NameFilesAndFunctionsThatAreThere(t *testing.T) {
	for _, l := range readLessons(t) {
		require.Regexp(t, filed, l.english.markdown, "%s says which file does it", l.file)
		for _, f := range filed.FindAllStringSubmatch(l.english.markdown, -1) {
			require.FileExists(t, filepath.Join("..", "..", f[1]), l.file)
		}
		for _, p := range placed.FindAllStringSubmatch(l.english.markdown, -1) {
			code, err := os.ReadFile(filepath.Join("..", "..", p[2]))
			require.NoError(t, err)
			for _, name := range strings.Split(p[1], " and ") {
				declared := `(?m)^func (\([^)]*\) )?` + strings.Trim(name, "`") + `[\[(]`
				require.Regexp(t, declared, string(code), "%s: %s is in %s", l.file, name, p[2])
			}
		}
	}
}

func TestLessons_DoWhatTheLensKnows(t *testing.T) {
	hub := look.NewHub()
	code := map[string]string{}
	for _, l := range readLessons(t) {
		code[l.file] = l.code
	}
	helpers, err := os.ReadFile("page/lessons/helpers.js")
	require.NoError(t, err)
	code["helpers"] = string(helpers)
	for file, text := range code {
		for _, a := range acted.FindAllStringSubmatch(text, -1) {
			if changes[a[1]] == nil && a[1] != "reset" && a[1] != "replay" {
				_, err := hub.Do(a[1], []byte("{}"))
				require.NotErrorIs(t, err, look.ErrUnknown, "%s: act %s", file, a[1])
			}
		}
		for _, f := range faulted.FindAllStringSubmatch(text, -1) {
			require.Contains(t, faultKinds, f[1], "%s: fault %s", file, f[1])
		}
	}
}
