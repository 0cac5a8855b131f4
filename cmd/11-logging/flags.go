package main

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"glasswatch/cmd/internal/demo"
)

// klog's flags are global variables of the process, so each trial of a flag is a process of its own: a child.

// trial is one flag's: its effect is the difference between what a program logs with base and what it logs with both.
type trial struct{ base, with, why string }

const (
	toFile  = "-logtostderr=false -log_file=DIR/app.log"
	toFiles = "-logtostderr=false -log_dir=DIR"
)

// trials has all flags of klog; main_test.go compares it with the module.
var trials = []trial{
	{"", "-v=2", "V levels up to 2, in all files"},
	{"", "-vmodule=main=2", "the same for main.go alone"},
	{"-log_dir=DIR", "-logtostderr=false", "to files; only errors on standard error as well"},
	{"-logtostderr=false", "-log_dir=DIR", "not in the folder for temporary files (tmp/), but here"},
	{toFiles, "-log_file=DIR/app.log", "one file, and none for each severity"},
	{toFiles, "-one_output", "each line once, and not in the files of all lower severities, too"},
	{toFile, "-alsologtostderr", "files and standard error"},
	{toFile + " -alsologtostderr", "-alsologtostderrthreshold=WARNING", "the latter from this severity on"},
	{toFile, "-stderrthreshold=WARNING", "the same where -alsologtostderr is not set"},
	{"", "-stderrthreshold=FATAL", "no effect: -logtostderr, which is the default, comes first"},
	{"-stderrthreshold=WARNING", "-legacy_stderr_threshold_behavior=false", "until this flag is set as well"},
	{toFile, "-skip_log_headers", "no lines about the file at its top"},
	{toFile, "-log_file_max_size=1", "after a MB the file is emptied: what was in it is lost"},
	{"", "-skip_headers", "the message alone"},
	{"", "-add_dir_header", "the folder of the source file, too"},
	{"", "-log_backtrace_at=HERE", "the stack of the line's goroutine, for one line of the source"},
}

func klogFlags(ctx context.Context, d *demo.Demo) {
	d.Step("klog's flags, one by one: the lines that each adds to what a program logs (+), or takes away (-)")
	known := map[string][]string{}
	hear := func(flags string) []string {
		if _, ok := known[flags]; !ok {
			known[flags] = heard(ctx, d, flags)
		}
		return known[flags]
	}
	d.Entry("none", "", strings.Join(hear(""), "\n"))
	here := regexp.MustCompile(`\w+\.go:\d+`).FindString(hear("")[0])
	for _, t := range trials {
		base, with := hear(t.base), hear(strings.TrimSpace(t.base+" "+strings.ReplaceAll(t.with, "HERE", here)))
		text := strings.TrimSpace(t.with + "  " + strings.Repeat("after ", min(len(t.base), 1)) + t.base)
		text += "\n" + strings.Join(append(without("+ ", with, base), without("- ", base, with)...), "\n")
		d.Entry("flag", "", strings.TrimSpace(text))
		d.Why("%s", t.why)
	}
}

// without returns those lines that are not among others, behind a sign.
func without(sign string, lines, others []string) (rest []string) {
	for _, line := range lines {
		if !slices.Contains(others, line) {
			rest = append(rest, sign+line)
		}
	}
	return rest
}

func defaults(ctx context.Context, d *demo.Demo) {
	d.Step("klog's flags before flag.Parse, and after it with -v=1 -stderrthreshold=WARNING")
	task := spoken{Args: []string{"-v=1", "-stderrthreshold=WARNING"}, Dir: d.TempDir(), List: true}
	out := d.Ran(ctx, string(demo.Must(json.Marshal(task))))
	said, list, _ := strings.Cut(out, "\n")
	var flags [2][][2]string
	demo.Check(json.Unmarshal([]byte(list), &flags))
	rows := [][]string{{"flag", "before", "after"}}
	for i, f := range flags[0] {
		rows = append(rows, []string{"-" + f[0], f[1], flags[1][i][1]})
	}
	d.Table(rows...)
	d.Saw("%s", stamp.ReplaceAllString(said, "$1 "))
	d.Why("a line of level 1 before Parse is lost, for -v is 0 until then. A severity prints as its number:\n" +
		"INFO 0, WARNING 1, ERROR 2, FATAL 3")
}
