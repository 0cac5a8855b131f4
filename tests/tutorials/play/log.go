package play

import (
	"flag"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/klog/v2"
)

// Log gives the program klog as it is in a new process, but for the header of each line. flags are klog's. logged returns the lines that
// came on standard error since the last call.
func (p *Play) Log() (flags *flag.FlagSet, logged func() []string) {
	before, stderr := klog.CaptureState(), os.Stderr
	file := Must(os.Create(filepath.Join(p.TempDir(), "stderr")))
	p.Cleanup(func() {
		before.Restore()
		os.Stderr = stderr
		Check(file.Close())
	})
	os.Stderr = file
	klog.ClearLogger()
	flags = flag.NewFlagSet("program", flag.ContinueOnError)
	klog.InitFlags(flags)
	Check(flags.Set("skip_headers", "true"))
	read := 0
	return flags, func() []string {
		klog.Flush()
		text := string(Must(os.ReadFile(file.Name())))[read:]
		read += len(text)
		return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
}
