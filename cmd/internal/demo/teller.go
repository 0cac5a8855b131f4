package demo

import (
	"context"
	"fmt"
	"strings"
)

// Teller lets the story's goroutine print the lines of other goroutines, in order. A goroutine that tells a line waits
// until the story has printed it. So a story that does not read blocks the code that it watches, and can change the
// cluster meanwhile.
type Teller struct {
	demo  *Demo
	ctx   context.Context // of the story; its end unblocks all waiting goroutines
	lines chan string
}

// Teller returns one for as long as ctx.
func (d *Demo) Teller(ctx context.Context) *Teller {
	return &Teller{demo: d, ctx: ctx, lines: make(chan string)}
}

// Tell waits until the story has printed the line, or has ended. Any goroutine but the story's may call it.
func (t *Teller) Tell(format string, args ...any) {
	select {
	case t.lines <- fmt.Sprintf(format, args...):
	case <-t.ctx.Done():
	}
}

// Until prints what is told up to a line with this text in it.
func (t *Teller) Until(text string) {
	for {
		select {
		case line := <-t.lines:
			t.demo.Saw("%s", line)
			if strings.Contains(line, text) {
				return
			}
		case <-t.ctx.Done():
			Check(fmt.Errorf("waiting for %q: %w", text, t.ctx.Err()))
		}
	}
}
