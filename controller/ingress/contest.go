package ingress

import "time"

const (
	freeWrites   = 4 // the first write of a state and three corrections of it go out at once
	contestBase  = time.Second
	contestCap   = 5 * time.Minute
	contestQuiet = 2 * contestCap // a state that is unchanged for so long counts as accepted
)

// contest paces the writes of one state of one Ingress. The first corrections, of a person's edits, come at once.
// Against a program that keeps undoing them they come with growing delays, up to contestCap.
type contest struct {
	want   desired
	writes int
	last   time.Time
}

// wait gives how long the next write of want has to wait; 0 is now.
func (c *contest) wait(want desired, now time.Time) time.Duration {
	if c.want != want || now.Sub(c.last) >= contestQuiet {
		*c = contest{want: want}
	}
	return max(0, c.last.Add(c.delay()).Sub(now))
}

func (c *contest) delay() time.Duration {
	excess := c.writes - freeWrites
	if excess < 0 {
		return 0
	}
	return min(contestBase<<min(excess, 16), contestCap) // 2¹⁶ s is over the cap and under the overflow
}

func (c *contest) wrote(now time.Time) {
	c.writes++
	c.last = now
}
