package main

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// progress prints how far a long step is, on a terminal only, and at its end how long it took. Its steps may come from
// any goroutine.
type progress struct {
	what  string
	total int
	began time.Time
	done  atomic.Int64
	over  chan struct{}
	wg    sync.WaitGroup
}

func startProgress(what string, total int) *progress {
	p := &progress{what: what, total: total, began: time.Now(), over: make(chan struct{})}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		p.wg.Go(p.show)
	}
	return p
}

func (p *progress) step() { p.done.Add(1) }

func (p *progress) end() {
	close(p.over)
	p.wg.Wait()
	spent := time.Since(p.began)
	done := p.done.Load()
	fmt.Fprintf(os.Stderr, "%s: %d of %d in %s, %.1f/s\n", p.what, done, p.total, spent.Round(100*time.Millisecond), float64(done)/spent.Seconds())
}

func (p *progress) show() {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.over:
			fmt.Fprint(os.Stderr, "\r\033[K")
			return
		case <-tick.C:
			fmt.Fprintf(os.Stderr, "\r\033[K%s", p.line(time.Since(p.began)))
		}
	}
}

func (p *progress) line(spent time.Duration) string {
	done := p.done.Load()
	rate := float64(done) / spent.Seconds()
	left := "some time"
	if done > 0 {
		left = time.Duration(float64(p.total-int(done)) / rate * float64(time.Second)).Round(time.Second).String()
	}
	return fmt.Sprintf("%s: %d of %d, %.1f/s, %s left", p.what, done, p.total, rate, left)
}
