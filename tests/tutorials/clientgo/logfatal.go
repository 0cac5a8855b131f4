package clientgo

import (
	"runtime"
	"strings"

	"k8s.io/klog/v2"

	"glasswatch/tests/tutorials/play"
)

// LogFatal ends programs by klog. Fatal logs, flushes, and exits with 255; with log files, it writes the stacks of all goroutines to them. Exit
// does that with 1 and without stacks. FlushAndExit logs nothing. None of them runs deferred functions: a lease is not given back, a queue is
// not drained. Call them in main only, after all has ended.
//
// Ways: logging has nothing of cache or workqueue to swap.
func LogFatal(p *play.Play) {
	exit := klog.OsExit
	defer func() { klog.OsExit = exit }()
	ends := func(what string, toFiles string, end func()) {
		flags, logged := p.Log()
		if toFiles != "" {
			play.Check(flags.Set("logtostderr", "false"))
			play.Check(flags.Set("log_file", toFiles))
		}
		ended := make(chan int)
		klog.OsExit = func(code int) {
			ended <- code
			runtime.Goexit() // os.Exit would not run deferred functions, as this does
		}
		go end()
		code := <-ended
		lines := logged()
		p.Print("%-26s exit code %d, first line %q, stacks on standard error: %t", what, code, lines[0], strings.Contains(strings.Join(lines, "\n"), "\ngoroutine "))
	}
	ends("Fatal", "", func() { klog.Fatal("no way on") })
	ends("Fatalf, a log file", p.TempDir()+"/log", func() { klog.Fatalf("no way %s", "on") })
	ends("ErrorS and FlushAndExit(1)", "", func() {
		klog.ErrorS(nil, "No way on")
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	})
}
