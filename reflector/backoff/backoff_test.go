package backoff

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimer_JitterAddsUpToTheSameAgain(t *testing.T) {
	var sum time.Duration
	for range 1000 {
		b := NewTimer(Exponential{})
		for _, base := range []time.Duration{800, 1600, 3200, 6400, 12800, 25600, 30000, 30000} {
			base *= time.Millisecond
			got := b.Next(time.Now(), 0)
			require.GreaterOrEqual(t, got, base)
			require.LessOrEqual(t, got, 2*base)
			sum += got - base
		}
	}
	require.InDelta(t, 0.5, sum.Seconds()/1000/110.4, 0.05)
}

func TestTimer_AbsurdFiguresDoNotOverflow(t *testing.T) {
	for _, b := range []Exponential{
		{Factor: 1e300, Jitter: -1},
		{Factor: math.Inf(1), Jitter: -1},
		{Factor: math.NaN(), Jitter: -1},
		{Factor: 1e300, Max: math.MaxInt64, Jitter: -1},
		{Base: math.MaxInt64, Max: math.MaxInt64, Jitter: 1e300},
	} {
		timer, now := NewTimer(b), time.Now()
		for i := range 3 {
			got := timer.Next(now, 0)
			require.GreaterOrEqual(t, got, min(timer.Base, timer.Max), "%+v", b)
			if i > 0 && b.Jitter < 0 {
				require.Equal(t, timer.Max, got, "%+v", b)
			}
		}
	}
}

func TestTimer_StartsAgainAfterTwoQuietMinutes(t *testing.T) {
	now := time.Now()
	b := NewTimer(Exponential{Jitter: -1})
	require.Equal(t, 800*time.Millisecond, b.Next(now, 0))
	now = now.Add(800*time.Millisecond + 2*time.Minute)
	require.Equal(t, 1600*time.Millisecond, b.Next(now, 0))
	now = now.Add(1600*time.Millisecond + 2*time.Minute + 1)
	require.Equal(t, 800*time.Millisecond, b.Next(now, 0))
}

// A negative time is as none at all: it would be a loop without a pause.
func TestExponential_NegativeTimesAreNoHotLoop(t *testing.T) {
	require.Equal(t, NewTimer(Exponential{}), NewTimer(Exponential{Base: -1, Max: -1, ResetAfter: -1}))
}

func TestWindow_BeginsAnewAfterAMinuteWithoutAFailure(t *testing.T) {
	var w Window
	now := time.Now()
	w.Note(now)
	require.Zero(t, w.Length())
	w.Note(now.Add(time.Minute - 1))
	require.Equal(t, time.Minute-1, w.Length())
	w.Note(now.Add(2*time.Minute - 2))
	require.Equal(t, 2*time.Minute-2, w.Length())
	w.Note(now.Add(3*time.Minute - 2))
	require.Zero(t, w.Length())
}
