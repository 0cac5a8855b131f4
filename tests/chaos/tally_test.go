package chaos

import (
	"fmt"
	"strings"
	"sync/atomic"

	"glasswatch/tests/chaos/proxy"
)

// kind is a kind of fault: the proxy's, and those that are none of a network.
type kind uint8

const (
	restored kind = kind(proxy.Kinds) + iota
	panicked
	stalled
	diskFull
	kinds
)

// String names it as the table does.
func (k kind) String() string {
	if k < restored {
		return proxy.Kind(k).String()
	}
	return [...]string{"restored backup", "handler panics", "handler stalls", "full disk"}[k-restored]
}

// tally counts the faults that have happened.
type tally struct {
	fired [kinds]atomic.Int64
	// resumed are the schedules at the end of which an informer went on from the checkpoint.
	resumed atomic.Int64
}

func (a *tally) fire(k kind)     { a.fired[k].Add(1) }
func (a *tally) of(k kind) int64 { return a.fired[k].Load() }

func (a *tally) String() string {
	var b strings.Builder
	for k := range kinds {
		fmt.Fprintf(&b, "%-26s %6d\n", k, a.of(k))
	}
	fmt.Fprintf(&b, "%-26s %6d\n", "(resumed at the end)", a.resumed.Load())
	return b.String()
}
