package ingress

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestContest_FourWritesAtOnceThenDoublingUpToFiveMinutes(t *testing.T) {
	now := time.Unix(0, 0)
	want := desired{host: "a"}
	var c contest
	for range freeWrites {
		require.Zero(t, c.wait(want, now))
		c.wrote(now)
	}
	for _, expected := range []time.Duration{
		time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second,
		64 * time.Second, 128 * time.Second, 256 * time.Second, contestCap, contestCap, contestCap,
	} {
		require.Equal(t, expected, c.wait(want, now))
		now = now.Add(expected)
		require.Zero(t, c.wait(want, now))
		c.wrote(now)
	}
	for range 100 { // no overflow, ever
		c.wrote(now)
	}
	require.Equal(t, contestCap, c.wait(want, now))
}

func TestContest_ForgetsAfterQuietOrWhenTheWishChanges(t *testing.T) {
	now := time.Unix(0, 0)
	want := desired{host: "a"}
	contested := func() contest {
		c := contest{want: want}
		for range freeWrites + 2 {
			c.wrote(now)
		}
		return c
	}
	c := contested()
	require.NotZero(t, c.wait(want, now))
	require.Zero(t, c.wait(desired{host: "b"}, now), "another wish is another matter")
	c = contested()
	require.Zero(t, c.wait(want, now.Add(contestQuiet)))
	require.Zero(t, c.writes)
}
