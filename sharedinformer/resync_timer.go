package sharedinformer

import (
	"context"
	"sync"
	"time"

	"glasswatch/reflector"
)

// resyncer is a reflector that resyncs the queue while it runs. The period begins anew with each list.
type resyncer[T object] struct {
	*reflector.Reflector[T]
	cfg      ControllerConfig[T]
	relisted chan struct{} // has a token if there was a list
}

func newResyncer[T object](cfg ControllerConfig[T]) *resyncer[T] {
	r := &resyncer[T]{cfg: cfg, relisted: make(chan struct{}, 1)}
	opts, report := cfg.Reflector, cfg.Reflector.OnList
	opts.OnList = func(objects int, took time.Duration) {
		r.noteList()
		if report != nil {
			report(objects, took)
		}
	}
	if opts.ResumeFrom != "" {
		r.noteList()
	}
	r.Reflector = reflector.New(cfg.ListerWatcher, sinkOf(cfg.Queue), opts)
	return r
}

func (r *resyncer[T]) noteList() {
	select {
	case r.relisted <- struct{}{}:
	default:
	}
}

// Run implements feeder.
func (r *resyncer[T]) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	if r.cfg.ResyncPeriod > 0 {
		wg.Go(func() { r.loop(ctx) })
	}
	r.Reflector.Run(ctx)
}

func (r *resyncer[T]) loop(ctx context.Context) {
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.relisted:
		case <-due:
			if r.cfg.ShouldResync == nil || r.cfg.ShouldResync() {
				if err := r.cfg.Queue.Resync(); err != nil {
					r.report(ctx, &reflector.SinkError{Op: "Resync", Err: err})
				}
			}
		}
		due = time.After(r.cfg.ResyncPeriod)
	}
}

func (r *resyncer[T]) report(ctx context.Context, err error) {
	if r.cfg.Reflector.OnError != nil {
		r.cfg.Reflector.OnError(ctx, err)
		return
	}
	reflector.LogError(ctx, r.cfg.Name, err)
}
