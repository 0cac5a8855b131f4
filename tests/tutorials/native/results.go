package native

import (
	"context"
	"errors"
	"time"

	"glasswatch/controller"
	"glasswatch/tests/tutorials/play"
	"glasswatch/workqueue/limiters"
)

// Results does what its namesake does with a controller.Controller, which has the worker.
func Results(p *play.Play) {
	limiter := limiters.NewItemExponentialFailureRateLimiter[string](time.Second, time.Hour)
	tries := map[string]int{}
	reconcile := controller.Func[string](func(_ context.Context, key string) (controller.Result, error) {
		tries[key]++
		p.Print("%s  %s, retries so far %d", p.Time(), key, limiter.NumRequeues(key))
		switch {
		case tries[key] > 3 || key == "done":
			return controller.Result{}, nil
		case key == "error":
			return controller.Result{}, errors.New("not yet")
		}
		return controller.Result{RequeueAfter: time.Minute}, nil
	})
	c := controller.New(reconcile, controller.Options[string]{RateLimiter: limiter})
	p.Go(func(ctx context.Context) { play.Check(c.Run(ctx)) })
	for _, key := range []string{"done", "error", "RequeueAfter"} {
		c.Enqueue(key)
		p.Pass(10 * time.Minute)
	}
}
