package limiters

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	clientgo "k8s.io/client-go/util/workqueue"
	"pgregory.net/rapid"
)

// delays asks l n times about item.
func delays(l RateLimiter[string], item string, n int) []time.Duration {
	got := make([]time.Duration, n)
	for i := range got {
		got[i] = l.When(item)
	}
	return got
}

const ms = time.Millisecond

// By structure alone the limiters are client-go's.
var (
	_ clientgo.TypedRateLimiter[string] = (*BucketRateLimiter[string])(nil)
	_ clientgo.TypedRateLimiter[string] = (*ItemExponentialFailureRateLimiter[string])(nil)
	_ clientgo.TypedRateLimiter[string] = (*ItemFastSlowRateLimiter[string])(nil)
	_ clientgo.TypedRateLimiter[string] = (*MaxOfRateLimiter[string])(nil)
	_ clientgo.TypedRateLimiter[string] = (*WithMaxWaitRateLimiter[string])(nil)
	_ RateLimiter[string]               = clientgo.TypedRateLimiter[string](nil)
)

func TestItemExponentialFailureRateLimiter_DoublesPerItemUpToTheCap(t *testing.T) {
	l := NewItemExponentialFailureRateLimiter[string](ms, 10*ms)
	assert.Equal(t, []time.Duration{ms, 2 * ms, 4 * ms, 8 * ms, 10 * ms, 10 * ms}, delays(l, "a", 6))
	assert.Equal(t, ms, l.When("b"))
	assert.Equal(t, 6, l.NumRequeues("a"))
	l.Forget("a")
	l.Forget("a")
	assert.Zero(t, l.NumRequeues("a"))
	assert.Equal(t, ms, l.When("a"))
}

func TestItemExponentialFailureRateLimiter_GivesTheDelaysOfClientGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "base"))
		limit := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "max"))
		ours := NewItemExponentialFailureRateLimiter[string](base, limit)
		theirs := clientgo.NewTypedItemExponentialFailureRateLimiter[string](base, limit)
		for range 70 {
			want := theirs.When("a")
			if want < 0 {
				want = limit // client-go overflows if the delay is exactly 2⁶³ ns
			}
			require.Equal(t, want, ours.When("a"))
		}
	})
}

func TestItemFastSlowRateLimiter_IsFastForTheFirstRetries(t *testing.T) {
	l := NewItemFastSlowRateLimiter[string](ms, time.Second, 2)
	assert.Equal(t, []time.Duration{ms, ms, time.Second, time.Second}, delays(l, "a", 4))
	assert.Equal(t, 4, l.NumRequeues("a"))
	l.Forget("a")
	assert.Equal(t, ms, l.When("a"))
}

func TestBucketRateLimiter_SpacesRetriesOfAllItemsOnceTheBurstIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewBucketRateLimiter[string](rate.NewLimiter(10, 2))
		assert.Equal(t, []time.Duration{0, 0, 100 * ms, 200 * ms}, delays(l, "a", 4))
		assert.Equal(t, 300*ms, l.When("b"))
		l.Forget("a")
		assert.Zero(t, l.NumRequeues("a"))
		<-time.After(time.Second)
		assert.Zero(t, l.When("a"))
	})
}

func TestMaxOfRateLimiter_TheLongestDelayCounts(t *testing.T) {
	l := NewMaxOfRateLimiter[string](
		NewItemFastSlowRateLimiter[string](5*ms, 6*ms, 3),
		NewItemExponentialFailureRateLimiter[string](ms, time.Second),
	)
	assert.Equal(t, []time.Duration{5 * ms, 5 * ms, 5 * ms, 8 * ms, 16 * ms}, delays(l, "a", 5))
	assert.Equal(t, 5, l.NumRequeues("a"))
	assert.Equal(t, 1, l.Tracked())
	l.Forget("a")
	assert.Zero(t, l.NumRequeues("a"))
	assert.Zero(t, l.Tracked())
	assert.Zero(t, NewMaxOfRateLimiter[string]().When("a"))
}

func TestWithMaxWaitRateLimiter_CapsTheDelay(t *testing.T) {
	l := NewWithMaxWaitRateLimiter(NewItemExponentialFailureRateLimiter[string](ms, time.Hour), 3*ms)
	assert.Equal(t, []time.Duration{ms, 2 * ms, 3 * ms, 3 * ms}, delays(l, "a", 4))
	assert.Equal(t, 4, l.NumRequeues("a"))
	assert.Equal(t, 1, l.Tracked())
	l.Forget("a")
	assert.Equal(t, ms, l.When("a"))
}

func TestDefaultControllerRateLimiter_IsExponentialPerItemWithABucketForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := DefaultControllerRateLimiter[string]()
		assert.Equal(t, []time.Duration{5 * ms, 10 * ms, 20 * ms}, delays(l, "a", 3))
		for range 97 {
			l.When("b")
		}
		assert.Equal(t, 100*ms, l.When("c"), "the burst of 100 is used up")
		assert.Equal(t, 1000*time.Second, delays(l, "a", 20)[19])
	})
}

func TestCounts_TheItemWhoseLastRetryIsOldestGoesWhenThereAreTooMany(t *testing.T) {
	l := NewItemExponentialFailureRateLimiter[string](ms, time.Second)
	l.MaxTracked = 3
	for _, item := range []string{"a", "b", "c", "a", "d"} {
		l.When(item)
	}
	assert.Equal(t, 3, l.Tracked())
	assert.EqualValues(t, 1, l.Evicted())
	assert.Zero(t, l.NumRequeues("b"))
	assert.Equal(t, 2, l.NumRequeues("a"), "failed again since")
	l.Forget("c")
	l.When("e")
	assert.EqualValues(t, 1, l.Evicted(), "there was room")
	l.When("f")
	assert.Zero(t, l.NumRequeues("a"))
}

func TestCounts_AreBoundedByDefault(t *testing.T) {
	l := NewItemFastSlowRateLimiter[int](0, 0, 1)
	for i := range DefaultMaxTracked + 10 {
		l.When(i)
	}
	assert.Equal(t, DefaultMaxTracked, l.Tracked())
}
