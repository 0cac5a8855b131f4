package compat

import (
	"time"

	"glasswatch/compat/workqueue"
	"golang.org/x/time/rate"

	"glasswatch/tests/tutorials/play"
)

// MaxOf asks the default limiter of controllers in slow motion: a backoff for each item, and a bucket of tokens for all of them. The longer
// wait of the two counts, and each question costs both: one item that fails often takes the others' tokens.
//
// Often said: "Forget undoes the waiting". It resets the item's backoff. The tokens are gone, and what is queued already stays where it is.
func MaxOf(p *play.Play) {
	backoff := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, 10*time.Second)
	bucket := &workqueue.TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(rate.Every(3*time.Second), 3)}
	limiter := workqueue.NewTypedMaxOfRateLimiter[string](backoff, bucket)
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
