package reflector

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// resyncer is the one goroutine that Run starts itself. It lives from the first list to the end of Run.
type resyncer struct {
	relisted chan struct{} // a list went to the sink: the period begins anew; nil before the first
	wg       sync.WaitGroup
	panicked any // read after wg.Wait
}

// beginResync begins the period anew. The first time, it starts the goroutine. stop ends Run if the sink panics, so that
// Run's caller gets the panic and not the process.
func (r *Reflector[T]) beginResync(ctx context.Context, s *resyncer, stop context.CancelFunc) {
	if r.opts.ResyncPeriod <= 0 {
		return
	}
	if s.relisted != nil {
		select {
		case s.relisted <- struct{}{}:
		default:
		}
		return
	}
	s.relisted = make(chan struct{}, 1)
	s.wg.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				s.panicked = fmt.Sprintf("%v\n\n%s", p, debug.Stack())
				stop()
			}
		}()
		r.resyncLoop(ctx, s.relisted)
	})
}

func (r *Reflector[T]) resyncLoop(ctx context.Context, relisted <-chan struct{}) {
	timer := time.NewTimer(r.opts.ResyncPeriod)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-relisted:
			timer.Reset(r.opts.ResyncPeriod)
			continue
		case <-timer.C:
		}
		if r.opts.ShouldResync == nil || r.opts.ShouldResync() {
			if err := r.sink.Resync(); err != nil {
				r.reportSink(ctx, &SinkError{Op: "Resync", Err: err})
			} else {
				r.counters.resyncs.Add(1)
			}
		}
		timer.Reset(r.opts.ResyncPeriod)
	}
}
