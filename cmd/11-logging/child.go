package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"glasswatch/cmd/internal/demo"
)

// spoken tells a child what to do.
type spoken struct {
	Args []string
	Dir  string // for its files
	List bool   // list the flags, too
}

// speak is the child: a program that parses klog's flags and logs.
func speak(_ context.Context, _ *demo.Demo, task string) error {
	var s spoken
	if err := errors.Join(json.Unmarshal([]byte(task), &s), os.Mkdir(filepath.Join(s.Dir, "tmp"), 0o700)); err != nil {
		return err
	}
	if err := os.Setenv("TMPDIR", filepath.Join(s.Dir, "tmp")); err != nil {
		return err
	}
	fs := flag.NewFlagSet("program", flag.ContinueOnError)
	klog.InitFlags(fs)
	before := values(fs)
	klog.V(1).InfoS("Logged before Parse")
	if err := fs.Parse(s.Args); err != nil {
		return err
	}
	if s.List {
		klog.V(1).InfoS("Logged after Parse")
		return json.NewEncoder(os.Stderr).Encode([][][2]string{before, values(fs)})
	}
	klog.InfoS("Ready")
	synced()
	klog.V(2).InfoS("Compared")
	klog.Warning("Slow")
	klog.ErrorS(errors.New("no route to host"), "Failed")
	if slices.Contains(s.Args, "-log_file_max_size=1") {
		klog.InfoS("Big", "value", strings.Repeat(".", 1<<20))
		klog.InfoS("Late")
	}
	klog.Flush()
	return nil
}

func values(fs *flag.FlagSet) (all [][2]string) {
	fs.VisitAll(func(f *flag.Flag) { all = append(all, [2]string{f.Name, f.Value.String()}) })
	return all
}

var (
	stamp  = regexp.MustCompile(`^([IWEF])\d{4} [\d:.]+ +\d+ `)
	header = regexp.MustCompile(`Log file created at:.*\n.*\n.*\n.*\n`)
)

// heard runs a child with these flags, and returns its lines and where they came out, without times.
func heard(ctx context.Context, d *demo.Demo, flags string) (lines []string) {
	dir := d.TempDir()
	task := demo.Must(json.Marshal(spoken{Args: strings.Fields(strings.ReplaceAll(flags, "DIR", dir)), Dir: dir}))
	note := func(where, text string) {
		inStack := false
		for line := range strings.Lines(header.ReplaceAllString(text, "(four lines about the file)\n")) {
			line = strings.TrimRight(line, "\n")
			inStack = inStack && !stamp.MatchString(line)
			if !inStack && len(line) < 1<<10 {
				lines = append(lines, where+"  "+stamp.ReplaceAllString(line, "$1 "))
			}
			inStack = inStack || strings.HasPrefix(line, "goroutine ")
		}
	}
	note("stderr", d.Ran(ctx, string(task)))
	demo.Check(filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() { // klog adds a link for each severity
			return err
		}
		name := strings.TrimPrefix(path, dir+string(filepath.Separator))
		if _, rest, ok := strings.Cut(filepath.Base(name), ".log."); ok {
			severity, _, _ := strings.Cut(rest, ".")
			name = filepath.Join(filepath.Dir(name), severity)
		}
		note(name, string(demo.Must(os.ReadFile(path))))
		return nil
	}))
	return lines
}
