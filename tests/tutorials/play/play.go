// Package play is what the programs of tests/tutorials run on: a cluster, a place to print to, and virtual time.
//
//	p := play.New(t)         in a testing/synctest bubble
//	program(p)         ───▶  p.Server, p.Client   an API server in memory, which is started when it is first asked for
//	                         p.Print              a line of the output, also from other goroutines
//	                         p.Go, p.Pass         goroutines that end with the program, and hours that take no time
//	p.Output()
package play

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
)

// Play is one run of one program. Methods other than Print, Time and Context are for the program's first goroutine.
type Play struct {
	t      testing.TB
	began  time.Time
	server *apiservertest.Server // nil until it is asked for

	mu    sync.Mutex // protects lines
	lines []string
}

// New is to be called in a bubble.
func New(t testing.TB) *Play { return &Play{t: t, began: time.Now()} }

// Context ends just before the program's cleanups.
func (p *Play) Context() context.Context { return p.t.Context() }

// Server is the cluster.
func (p *Play) Server() *apiservertest.Server {
	if p.server == nil {
		p.server = apiservertest.Start(p.t, apiserver.Options{})
	}
	return p.server
}

// Client is client-go's clientset for the cluster.
func (p *Play) Client() kubernetes.Interface { return p.Server().Client }

// Config is for all other clients of the cluster.
func (p *Play) Config() *rest.Config { return p.Server().Config }

// ConfigMaps lists and watches those of the default namespace, as the native layers do it. Server().Asked tells of it.
func (p *Play) ConfigMaps() listwatch.ListerWatcher[*corev1.ConfigMap] {
	return p.Server().ConfigMaps(listwatch.Options{})
}

// Print adds a line to the output.
func (p *Play) Print(format string, args ...any) {
	line := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, line)
}

// Output returns what was printed.
func (p *Play) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n") + "\n"
}

// Time is how long the program has run, in virtual time, such as 00:59:30.
func (p *Play) Time() string {
	return time.Time{}.Add(time.Since(p.began)).Format(time.TimeOnly)
}

// Go runs something until the program ends, or until stop is called. Both wait for it.
func (p *Play) Go(run func(ctx context.Context)) (stop func()) {
	return apiservertest.Go(p.t, func(ctx context.Context) error {
		run(ctx)
		return nil
	})
}

// Cleanup is called when the program has ended, before the server is stopped if that was started before.
func (p *Play) Cleanup(f func()) { p.t.Cleanup(f) }

// Pass lets time go by, and waits until nothing happens any more. Pass(0) only waits.
func (p *Play) Pass(d time.Duration) { apiservertest.Pass(d) }

// TempDir is a folder that is removed afterwards.
func (p *Play) TempDir() string { return p.t.TempDir() }

// Must returns v. The programs expect no err here, so one ends the test.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Check ends the test if there is an error.
func Check(err error) {
	if err != nil {
		panic(err)
	}
}

// Roughly is d, or "30 to 60 minutes" where a server chose it.
func Roughly(d time.Duration) string {
	if d > 30*time.Minute && d < time.Hour {
		return "30 to 60 minutes"
	}
	return d.String()
}
