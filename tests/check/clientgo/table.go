package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

const tableFile = "TESTS.md"

// row is what becomes of a test. Of a test that is not applicable why is the names that it uses. Of one that differs it
// is the subtests that fail, if there are any, then the reason, which only the table has.
type row struct{ name, result, why string }

// The results. Those that differ must have a reason in the table.
const (
	passes        = "passes"
	asInterface   = "passes as interface"
	renamed       = "passes renamed"
	differs       = "differs"
	notApplicable = "not applicable"
)

// mayDiffer is how many tests may differ, those that pass with another type's name included.
const mayDiffer = 3

// row says what became of t.
func (r *rewriter) row(t test, out outcome) row {
	if len(t.unexported) > 0 {
		return row{t.name, notApplicable, quoted(t.unexported)}
	}
	if out.ended[t.name] != "pass" {
		return row{t.name, differs, quoted(out.failed[t.name])}
	}
	for n := range t.needs {
		if r.renamed[n] {
			return row{name: t.name, result: renamed}
		}
	}
	if t.asserts {
		return row{name: t.name, result: asInterface}
	}
	return row{name: t.name, result: passes}
}

// quoted returns each of the names in backquotes, and nothing for none.
func quoted(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "` `") + "`"
}

// printRows prints what became of each test, and the output of those that differ in a way that the table does not name.
func printRows(rows, told []row, out outcome, opts options) {
	count, surprised := map[string]int{}, false
	for _, r := range rows {
		if _, ran := out.ended[r.name]; opts.only != "" && !ran {
			continue
		}
		count[r.result]++
		fmt.Printf("  %-19s %s %s\n", r.result, r.name, r.why)
		known := slices.ContainsFunc(told, func(t row) bool { return t.name == r.name && r.against(t, true) == "" })
		surprise := r.result == differs && !known
		if surprise || opts.verbose {
			fmt.Print(out.output[r.name])
		}
		surprised = surprised || surprise
	}
	if surprised {
		fmt.Print(out.rest)
	}
	for _, result := range slices.Sorted(maps.Keys(count)) {
		fmt.Printf("  %d %s\n", count[result], result)
	}
}

var (
	heading = regexp.MustCompile(`^## (\S+)$`)
	line    = regexp.MustCompile("^\\| `(\\w+)` \\| ([a-z ]+) \\| (.*?) ?\\|$")
)

// readTable reads the rows below each heading, which is an import path.
func readTable(path string) (map[string][]row, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	told, section := map[string][]row{}, ""
	for _, l := range strings.Split(string(text), "\n") {
		if m := heading.FindStringSubmatch(l); m != nil {
			section = m[1]
		} else if m := line.FindStringSubmatch(l); m != nil {
			told[section] = append(told[section], row{m[1], m[2], m[3]})
		}
	}
	return told, nil
}

// compare returns what the table says and is not so, and what it does not say.
func compare(found, told map[string][]row) (wrong []string) {
	differing := 0
	for _, path := range slices.Sorted(maps.Keys(facades)) {
		byName := map[string]row{}
		for _, t := range told[path] {
			if _, twice := byName[t.name]; twice {
				wrong = append(wrong, fmt.Sprintf("%s: two rows for %s", path, t.name))
			}
			byName[t.name] = t
		}
		for _, f := range found[path] {
			t, is := byName[f.name]
			delete(byName, f.name)
			if t.result == renamed || t.result == differs {
				differing++
			}
			if complaint := f.against(t, is); complaint != "" {
				wrong = append(wrong, fmt.Sprintf("%s: %s: %s", path, f.name, complaint))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			wrong = append(wrong, fmt.Sprintf("%s: client-go has no test %s", path, name))
		}
	}
	if differing > mayDiffer {
		wrong = append(wrong, fmt.Sprintf("%d tests differ, %d may", differing, mayDiffer))
	}
	return wrong
}

// failing returns the tests that do not pass.
func failing(found map[string][]row) (wrong []string) {
	for _, path := range slices.Sorted(maps.Keys(found)) {
		for _, f := range found[path] {
			if f.result == differs {
				wrong = append(wrong, path+": "+f.name+" fails")
			}
		}
	}
	return wrong
}

// leading are the names in backquotes that a reason begins with, up to a colon or to the end.
var leading = regexp.MustCompile("^(`[^`]+`(?: `[^`]+`)*)(?::|$)")

// subtests returns the subtests that a row of the table names as failing.
func (r row) subtests() string {
	if m := leading.FindStringSubmatch(r.why); m != nil {
		return m[1]
	}
	return ""
}

// against compares what was found with the table's row.
func (found row) against(told row, is bool) string {
	switch {
	case !is:
		return "no row; it is: " + found.result
	case found.result != told.result:
		return fmt.Sprintf("the table says %q, but it is: %s", told.result, found.result)
	case found.result == notApplicable && found.why != told.why:
		return fmt.Sprintf("the table says that it uses %s, but it uses %s", told.why, found.why)
	case found.result == differs && found.why == "" && told.subtests() != "":
		return "the table names subtests, but none fails"
	case found.result == differs && found.why != told.subtests():
		return fmt.Sprintf("the table should name what fails: %s", found.why)
	case (found.result == differs || found.result == renamed) && told.why == found.why:
		return "it differs, but why?"
	case (found.result == passes || found.result == asInterface) && told.why != "":
		return "it passes; there is nothing to explain"
	}
	return ""
}

// writeTable replaces the rows below each heading. Reasons of tests that differ are kept.
func writeTable(path string, found, told map[string][]row) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var out strings.Builder
	intro, _, _ := strings.Cut(string(text), "\n## ")
	out.WriteString(strings.TrimRight(intro, "\n") + "\n")
	for _, path := range slices.Sorted(maps.Keys(facades)) {
		fmt.Fprintf(&out, "\n## %s\n\n| test | result | why |\n|---|---|---|\n", path)
		for _, f := range found[path] {
			i := slices.IndexFunc(told[path], func(t row) bool { return t.name == f.name && t.result == f.result })
			if i >= 0 && (f.result == renamed || f.result == differs && told[path][i].subtests() == f.why) {
				f.why = told[path][i].why
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", f.name, f.result, f.why)
		}
	}
	return os.WriteFile(path, []byte(out.String()), 0o600)
}
