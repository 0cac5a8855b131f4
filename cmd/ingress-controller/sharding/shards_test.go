package sharding

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"glasswatch/controller/shards"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/extent"
)

// member is a replica with shards. Its work is to hold them.
type member struct {
	*shards.Member
	waits func() bool
	stop  func()
	ended chan struct{} // closed when its run has returned
	err   error         // of the run
}

func (b *booth) enterSharded(args ...string) *member {
	b.t.Helper()
	first := []string{"--shards=8", "--leader-elect-namespace=default", "--shard-identity=" + b.nextName()}
	args = append(first, args...)
	cfg := rest.CopyConfig(b.cfg)
	cfg.Wrap(b.recorded)
	f, shared := parse(b.t, args...)
	s, err := f.New(cfg, shared)
	require.NoError(b.t, err)
	m := &member{waits: s.Waits, ended: make(chan struct{})}
	m.Member, err = shards.New(s.Leases, s.Member)
	require.NoError(b.t, err)
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	b.stops = append(b.stops, stop)
	go func() {
		defer close(m.ended)
		m.err = m.Run(ctx)
	}()
	synctest.Wait()
	return m
}

func (b *booth) nextName() string {
	b.entered++
	return string(rune('a'+b.entered)) + "-replica"
}

// recorded counts the writes to the mode's Lease. Nothing answers while the network is down.
func (b *booth) recorded(next http.RoundTripper) http.RoundTripper {
	return apiservertest.RoundTripper(func(req *http.Request) (*http.Response, error) {
		b.mu.Lock()
		down := b.down
		b.mu.Unlock()
		if down != nil {
			select {
			case <-down:
			case <-req.Context().Done():
			}
			return nil, errors.New("the network was down")
		}
		answer, err := next.RoundTrip(req)
		if req.Method == http.MethodPut && req.URL.Path == leasePath && err == nil && answer.StatusCode == 200 {
			b.mu.Lock()
			b.modeWrites++
			b.mu.Unlock()
		}
		return answer, err
	})
}

func (b *booth) writesOfMode() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.modeWrites
}

const leasePath = "/apis/coordination.k8s.io/v1/namespaces/default/leases/" + program

// holder returns who holds the Lease of the election.
func (b *booth) holder() string { return *b.lease().Spec.HolderIdentity }

func working(all ...*candidate) (n int) {
	for _, c := range all {
		if c.working.Load() {
			n++
		}
	}
	return n
}

func heldBy(all ...*member) (n int) {
	for _, m := range all {
		n += len(m.Held())
	}
	return n
}

// neverBoth lets d pass, and looks at every moment whether two of these work, which tell how much.
func (b *booth) neverBoth(d time.Duration, works ...func() int) {
	b.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		n := 0
		for _, work := range works {
			if work() > 0 {
				n++
			}
		}
		require.LessOrEqual(b.t, n, 1, "two modes at work")
	}
}

// A rolling update from one leader to replicas with shards: those wait until the last leader has gone, and then work
// together.
func TestSharding_FromALeaderToShardsNeverBothAreAtWork(t *testing.T) {
	inBooth(t, func(b *booth) {
		leader, standby := b.enter(), b.enter()
		first, second := b.enterSharded(), b.enterSharded()
		leads, holds := func() int { return working(leader, standby) }, func() int { return heldBy(first, second) }
		b.neverBoth(time.Minute, leads, holds)
		require.Equal(t, 1, leads())
		require.Zero(t, holds())
		require.True(t, first.waits(), "it is ready, or the update would not get on")
		standby.stop()
		<-standby.ended
		leader.stop()
		<-time.After(500 * time.Millisecond)
		require.Zero(t, holds(), "the leader's work still drains")
		<-leader.ended
		<-time.After(2 * time.Second)
		require.Equal(t, 8, holds())
		require.Equal(t, "shards-by-namespace", b.holder())
		require.False(t, first.waits())
		require.NoError(t, first.Ready())
	})
}

// And back: the Lease is kept as long as one replica with shards is there, and runs out after that.
func TestSharding_FromShardsToALeaderNeverBothAreAtWork(t *testing.T) {
	inBooth(t, func(b *booth) {
		members := []*member{b.enterSharded(), b.enterSharded(), b.enterSharded()}
		<-time.After(10 * time.Second)
		require.Equal(t, 8, heldBy(members...))
		leader, others := b.enter(), b.enterSharded("--shard-by=uid")
		leads, holds := func() int { return working(leader) }, func() int { return heldBy(members...) }
		uid := func() int { return heldBy(others) }
		for len(members) > 0 {
			b.neverBoth(time.Minute, leads, holds, uid)
			require.Equal(t, 8, holds())
			require.True(t, others.waits())
			members[0].stop()
			<-members[0].ended
			require.NoError(t, members[0].err)
			require.Equal(t, "shards-by-namespace", b.holder(), "others may work under it")
			members = members[1:]
		}
		b.neverBoth(26*time.Second, leads, uid)
		require.Equal(t, 1, leads()+min(uid(), 1), "one of them has it when the Lease has run out, after 24 s")
		leader.stop()
		<-leader.ended
		b.neverBoth(26*time.Second, leads, uid)
		require.Equal(t, 8, uid())
	})
}

// For how long nobody works after the last replica with shards depends on two moments. It renewed the mode's Lease, of
// 24 s, at most 9.9 s before it ended: at its third try of 3.3 s each. The others try now and then, for a leader 4.4 s
// apart at most, and count the 24 s from when they saw the renewal.
func TestSharding_AfterTheLastReplicaWithShardsNobodyWorksUntilTheLeaseRunsOut(t *testing.T) {
	for _, next := range []struct {
		name  string
		every time.Duration // it tries at least so often
		enter func(b *booth) (works func() int)
	}{
		{"leader", 4400 * time.Millisecond, func(b *booth) func() int {
			leader := b.enter()
			return func() int { return working(leader) }
		}},
		{"uid", 825 * time.Millisecond, func(b *booth) func() int {
			other := b.enterSharded("--shard-by=uid")
			return func() int { return heldBy(other) }
		}},
	} {
		least, most := time.Hour, time.Duration(0)
		for phase := 0; phase < 60; phase += extent.Of(15, 1) {
			inBooth(t, func(b *booth) {
				last := b.enterSharded()
				<-time.After(10 * time.Second)
				works := next.enter(b)
				<-time.After(20*time.Second + time.Duration(phase)*167*time.Millisecond)
				last.stop()
				<-last.ended
				ended := time.Now()
				for works() == 0 {
					<-time.After(50 * time.Millisecond)
				}
				least, most = min(least, time.Since(ended)), max(most, time.Since(ended))
			})
		}
		t.Logf("%s: %v to %v", next.name, least, most)
		require.GreaterOrEqual(t, least, 24*time.Second-9900*time.Millisecond, next.name)
		require.LessOrEqual(t, most, 24*time.Second+2*next.every+100*time.Millisecond, next.name)
	}
}

// One renews for all.
func TestSharding_TheModesLeaseIsWrittenAboutAsOftenWhateverTheNumberOfReplicas(t *testing.T) {
	inBooth(t, func(b *booth) {
		var all []*member
		for range extent.Of(5, 10) {
			all = append(all, b.enterSharded())
		}
		<-time.After(time.Minute)
		before := b.writesOfMode()
		minutes := extent.Of(5, 10)
		<-time.After(time.Duration(minutes) * time.Minute)
		require.Equal(t, 8, heldBy(all...))
		require.InDelta(t, minutes*60/7, b.writesOfMode()-before, float64(2*minutes), "one in some 7 s")
		for _, m := range all {
			require.NoError(t, m.Ready())
		}
	})
}

func TestSharding_RefusesFlags(t *testing.T) {
	long := strings.Repeat("a", 64)
	for args, want := range map[string]string{
		"--shards=8 --leader-elect-retry-period=4s": "--leader-elect-retry-period: has no use with --shards",
		"--shards=0":                             "--shards: want 1 to 16384, got 0; without the flag there are none",
		"--shards=-1":                            "--shards: want 1 to 16384, got -1",
		"--shards=16385":                         "--shards: want 1 to 16384, got 16385",
		"--shards=513 --shard-by=label":          "--shards: want at most 512 with --shard-by=label, got 513",
		"--shards=8 --leader-elect-name=" + long: "--leader-elect-name: want what can be a label with --shards",
	} {
		f, shared, fs := flags()
		require.NoError(t, fs.Parse(strings.Fields(args)))
		require.ErrorContains(t, f.Validate(fs, shared), want)
	}
	f, _ := parse(t)
	require.Zero(t, f.Count)
	parse(t, "--leader-elect", "--leader-elect-name="+long)
	parse(t, "--shards=8", "--leader-elect-lease-duration=5s") // less than the renew deadline of a leader
}
