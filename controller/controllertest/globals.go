package controllertest

import (
	"context"
	"runtime/debug"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// globals are what tests change in the process while they explore.
var globals struct {
	mu       sync.Mutex // protects what follows, and is held while global variables are written
	users    int
	handlers []utilruntime.ErrorHandler
	percent  int // of GOGC
}

// withGlobals sets what plays need, until the last test that explores is done.
//
// It takes away the global handlers of errors. One of them waits until a millisecond after the last error of the process. If that was in
// another bubble, or in real time, it waits for years.
//
// It lets the garbage grow to four times of what is in use. A play leaves much garbage and little else, so that collections would be a
// good part of its time.
func withGlobals() (restore func()) {
	g := &globals
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.users == 0 {
		g.handlers = utilruntime.ErrorHandlers
		utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(context.Context, error, string, ...any) {}}
		g.percent = debug.SetGCPercent(plentyOfGarbage)
		if g.percent < 0 || g.percent > plentyOfGarbage {
			debug.SetGCPercent(g.percent)
		}
	}
	g.users++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.users--
		if g.users == 0 {
			utilruntime.ErrorHandlers = g.handlers
			debug.SetGCPercent(g.percent)
		}
	}
}

// plentyOfGarbage is in percent of what is in use.
const plentyOfGarbage = 400
