package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"glasswatch/controller/shards"
	"glasswatch/internal/apiserver"
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
	s, err := newShards(cfg, parse(b.t, args...))
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
	return roundTripper(func(req *http.Request) (*http.Response, error) {
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

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// holder returns who holds the Lease of the election.
func (b *booth) holder() string { return *b.lease().Spec.HolderIdentity }

func working(all ...*candidate) (n int) {
	for _, c := range all {
		select {
		case <-c.ended:
		default:
			if c.leads() {
				n++
			}
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

// One renews for all.
func TestSharding_TheModesLeaseIsWrittenAboutAsOftenWhateverTheNumberOfReplicas(t *testing.T) {
	inBooth(t, func(b *booth) {
		var all []*member
		for range 10 {
			all = append(all, b.enterSharded())
		}
		<-time.After(time.Minute)
		before := b.writesOfMode()
		<-time.After(10 * time.Minute)
		require.Equal(t, 8, heldBy(all...))
		require.InDelta(t, 10*60/7, b.writesOfMode()-before, 20, "one in some 7 s")
		for _, m := range all {
			require.NoError(t, m.Ready())
		}
	})
}

// The API server is away. No replica with shards ends: it stops its work when its own Lease may end, and goes on when
// the server is back. An outage that is short does not stop the work at all.
func TestSharding_AnOutageEndsNoReplica(t *testing.T) {
	for outage, within := range map[time.Duration]time.Duration{
		6 * time.Second:  0,
		8 * time.Second:  4 * time.Second,
		11 * time.Second: 4 * time.Second,
		30 * time.Second: 20 * time.Second,
		10 * time.Minute: 20 * time.Second,
	} {
		for _, silent := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/silent=%t", outage, silent), func(t *testing.T) {
				inBooth(t, func(b *booth) { b.liveThrough(outage, within, silent) })
			})
		}
	}
}

// liveThrough wants three replicas to live through an outage, and to hold all shards again that long after it.
func (b *booth) liveThrough(outage, within time.Duration, silent bool) {
	all := []*member{b.enterSharded(), b.enterSharded(), b.enterSharded()}
	<-time.After(time.Minute)
	require.Equal(b.t, 8, heldBy(all...))
	back := b.outage(silent)
	began, validity := time.Now(), shards.Options{LeaseDuration: 15 * time.Second}.Validity()
	for time.Since(began) < outage {
		<-time.After(100 * time.Millisecond)
		if time.Since(began) > validity {
			require.Zero(b.t, heldBy(all...), "%v after the last renewal that can have been sent", time.Since(began))
		}
	}
	back()
	<-time.After(within)
	require.Equal(b.t, 8, heldBy(all...), "%v after the outage", within)
	<-time.After(time.Minute)
	require.Equal(b.t, 8, heldBy(all...))
	for _, m := range all {
		require.NoError(b.t, m.Ready())
		require.True(b.t, m.lives())
	}
}

func (m *member) lives() bool {
	select {
	case <-m.ended:
		return false
	default:
		return true
	}
}

// outage has all requests fail, or wait for their timeout, and breaks the watches.
func (b *booth) outage(silent bool) (back func()) {
	defer b.server.Faults().BreakWatches()
	if !silent {
		b.server.Faults().FailNext(-1, apiserver.Failure{Code: http.StatusServiceUnavailable})
		return b.server.Faults().Reset
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	down := make(chan struct{})
	b.down = down
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.down = nil
		close(down)
	}
}

// An outage in the midst of a rolling update: the Lease runs out, and a leader may be the one that gets it. Then the
// replicas with shards wait for it, and go on after it.
func TestSharding_AfterAnOutageALeaderOrShardsWorkAndNeverBoth(t *testing.T) {
	shardsWaited := 0
	const runs = 20
	for run := range runs {
		inBooth(t, func(b *booth) {
			all := []*member{b.enterSharded(), b.enterSharded()}
			<-time.After(time.Minute)
			leader := b.enter()
			leads, holds := func() int { return working(leader) }, func() int { return heldBy(all...) }
			b.neverBoth(time.Duration(run)*500*time.Millisecond, leads, holds)
			back := b.outage(run%2 == 0) // for all, or for the replicas with shards only
			b.neverBoth(30*time.Second, leads, holds)
			back()
			b.neverBoth(time.Minute, leads, holds)
			if leads() == 1 {
				shardsWaited++
				require.True(t, all[0].waits())
				leader.stop()
				<-leader.ended
			}
			b.neverBoth(time.Minute, leads, holds)
			require.Equal(t, 8, holds())
			require.True(t, all[0].lives())
			require.True(t, all[1].lives())
		})
	}
	t.Logf("the leader was first after %d of %d outages", shardsWaited, runs)
	require.Positive(t, shardsWaited)
	require.Less(t, shardsWaited, runs)
}

func TestSharding_FlagsThatOnlyALeaderNeedsAreRefused(t *testing.T) {
	f, fs := &Flags{}, pflag.NewFlagSet(program, pflag.ContinueOnError)
	f.AddTo(fs)
	f.AddSharding(fs)
	require.NoError(t, fs.Parse([]string{"--shards=8", "--leader-elect-retry-period=4s"}))
	require.ErrorContains(t, f.Validate(fs), "--leader-elect-retry-period: has no use with --shards")
	parse(t, "--shards=8", "--leader-elect-lease-duration=5s") // less than the renew deadline of a leader
}
