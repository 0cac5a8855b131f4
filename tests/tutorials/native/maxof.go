package native

import (
	"time"

	"golang.org/x/time/rate"

	"glasswatch/tests/tutorials/play"
	"glasswatch/workqueue/limiters"
)

// MaxOf does what its namesake does with the limiters of workqueue/limiters.
func MaxOf(p *play.Play) {
	backoff := limiters.NewItemExponentialFailureRateLimiter[string](time.Second, 10*time.Second)
	bucket := limiters.NewBucketRateLimiter[string](rate.NewLimiter(rate.Every(3*time.Second), 3))
	limiter := limiters.NewMaxOfRateLimiter[string](backoff, bucket)
	ask := func(item string) {
		tokens := bucket.Tokens()
		wait := limiter.When(item).Round(time.Second)
		p.Print("%s  failure %d of %s, %2.0f tokens before: waits %s", p.Time(), limiter.NumRequeues(item), item, tokens, wait)
	}
	for _, item := range []string{"a", "a", "a", "b", "a", "a"} {
		ask(item)
	}
	limiter.Forget("a")
	p.Print("forgot a")
	ask("a")
	p.Pass(time.Minute)
	ask("b")
	ask("a")
}
