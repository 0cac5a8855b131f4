package clientgo

import (
	"errors"
	"strings"

	"k8s.io/klog/v2"

	"glasswatch/tests/tutorials/play"
)

// LogLevels asks which lines of klog pass. A line of level n passes if -v is n or more. Lines without a level are of level 0, and negative
// levels pass even then. -v can be set in the program, too: before Parse that is a default, after it the user's choice is lost.
//
// Often said: "V levels are severities". Severities are the first letter of a line: I, W, E, F. Levels only divide the infos. Use 0 to 3 in
// your own code: from 4 on you share them with client-go, whose requests begin at 6. docs/learn/logging.md and cmd/11-logging tell the rest.
//
// Ways: logging has nothing of cache or workqueue to swap.
func LogLevels(p *play.Play) {
	flags, logged := p.Log()
	passes := func(what string) {
		for level := klog.Level(-3); level < 6; level++ {
			klog.V(level).Info(level)
		}
		p.Print("%-34s passes: %s", what, strings.Join(logged(), " "))
	}
	passes("as it is")
	play.Check(flags.Parse([]string{"-v=2"}))
	passes("-v=2")

	play.Check(flags.Set("v", "1"))
	play.Check(flags.Parse(nil))
	passes("v set to 1, then Parse of nothing")
	play.Check(flags.Set("v", "1"))
	play.Check(flags.Parse([]string{"-v=3"}))
	passes("v set to 1, then Parse of -v=3")
	play.Check(flags.Parse([]string{"-v=3"}))
	play.Check(flags.Set("v", "0"))
	passes("Parse of -v=3, then v set to 0")

	kept := klog.V(1)
	play.Check(flags.Set("v", "1"))
	p.Print("kept := klog.V(1) while -v was 0; now -v is 1: kept %t, asked again %t", kept.Enabled(), klog.V(1).Enabled())

	klog.InfoS("Taken", "pods", []string{"a", "b"}, "left", 0)
	klog.ErrorS(errors.New("no route to host"), "Not taken")
	for _, line := range logged() {
		p.Print("structured: %s", line)
	}
	play.Check(flags.Set("skip_headers", "false"))
	klog.Info("x")
	klog.Warning("x")
	klog.Error("x")
	for _, line := range logged() {
		p.Print("first letter: %s, then month and day", line[:1])
	}
}
