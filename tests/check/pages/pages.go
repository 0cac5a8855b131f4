// Package pages puts what is made from the code into Markdown pages. A block stands between two comments, the first with its name:
//
//	<!-- demo 08-workqueue 2 -->
//	…
//	<!-- end -->
package pages

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/google/go-cmp/cmp"
)

var block = regexp.MustCompile(`<!-- ([^>]+) -->\n(?:[^<]|<[^!])*<!-- end -->`)

// Names are those of the blocks in a page's text, in order.
func Names(text string) (names []string) {
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// Without is a page's text without its blocks.
func Without(text string) string { return block.ReplaceAllString(text, "") }

// Code is text as Markdown shows code of that language.
func Code(language, text string) string {
	return "```" + language + "\n" + strings.Trim(text, "\n") + "\n```"
}

// Fill writes the blocks into the file, each of which must be there. Without write it returns how the file's blocks differ from them
// instead. Other blocks of the file stay as they are.
func Fill(file string, blocks map[string]string, write bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var problems []error
	found := map[string]bool{}
	filled := block.ReplaceAllStringFunc(string(text), func(old string) string {
		name := block.FindStringSubmatch(old)[1]
		content, isOurs := blocks[name]
		if !isOurs {
			return old
		}
		found[name] = true
		content = strings.Trim(content, "\n")
		if content == "" {
			problems = append(problems, fmt.Errorf("%s: nothing to show in %q", file, name))
		}
		filled := "<!-- " + name + " -->\n\n" + content + "\n\n<!-- end -->"
		if filled != old && !write {
			problems = append(problems, fmt.Errorf("%s: %q is outdated, and -update makes it anew:\n%s", file, name, cmp.Diff(old, filled)))
		}
		return filled
	})
	for name := range blocks {
		if !found[name] {
			problems = append(problems, fmt.Errorf("%s has no block %q", file, name))
		}
	}
	if !write || len(problems) > 0 {
		return errors.Join(problems...)
	}
	return os.WriteFile(file, []byte(filled), 0o644)
}
