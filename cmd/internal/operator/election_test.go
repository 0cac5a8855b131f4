package operator

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// booth is an API server and the replicas that elect a leader, in virtual time.
type booth struct {
	t      *testing.T
	server *apiserver.Server
	cfg    *rest.Config
	stops  []func() // of the replicas
}

func inBooth(t *testing.T, play func(b *booth)) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) {
		b := &booth{t: t, server: s.Server, cfg: s.Config}
		defer func() { // also after a failure, for nothing may stay in the bubble
			for _, stop := range b.stops {
				stop()
			}
			<-time.After(time.Minute)
		}()
		play(b)
	})
}

// candidate is one replica. Its work is to wait for the end.
type candidate struct {
	*election
	fit    atomic.Bool // its controller is ready
	stop   func()
	ended  chan struct{} // closed when the replica's run has returned
	err    error         // of the run
	worked bool          // run returned after its work
}

func (b *booth) enter(args ...string) *candidate {
	b.t.Helper()
	c := b.enterUnfit(args...)
	c.fit.Store(true)
	<-time.After(readyPoll)
	synctest.Wait()
	return c
}

func (b *booth) enterUnfit(args ...string) *candidate {
	b.t.Helper()
	args = append([]string{"--leader-elect", "--leader-elect-namespace=default"}, args...)
	e, err := newElection(b.cfg, parse(b.t, args...), program)
	require.NoError(b.t, err)
	ctx, stop := context.WithCancel(context.Background())
	b.stops = append(b.stops, stop)
	c := &candidate{election: e, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		isReady := func() error {
			if c.fit.Load() {
				return nil
			}
			return errors.New("foos: not synced yet")
		}
		c.err = e.run(ctx, isReady, func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(time.Second) // the drain
			c.worked = true
			return nil
		})
	}()
	synctest.Wait()
	return c
}

func (c *candidate) leads() bool {
	select {
	case <-c.won:
		return true
	default:
		return false
	}
}

func (b *booth) lease() *coordinationv1.Lease {
	client, err := kubernetes.NewForConfig(b.cfg)
	require.NoError(b.t, err)
	lease, err := client.CoordinationV1().Leases("default").Get(context.Background(), program, metav1.GetOptions{})
	require.NoError(b.t, err)
	return lease
}

func (b *booth) write(lease *coordinationv1.Lease) {
	client, err := kubernetes.NewForConfig(b.cfg)
	require.NoError(b.t, err)
	_, err = client.CoordinationV1().Leases("default").Update(context.Background(), lease, metav1.UpdateOptions{})
	require.NoError(b.t, err)
}

func TestElection_OneLeadsAndHandsOverOnlyWhenItsWorkIsDone(t *testing.T) {
	inBooth(t, func(b *booth) {
		first := b.enter()
		require.True(t, first.leads())
		require.Equal(t, 1.0, testutil.ToFloat64(leadership.leader.WithLabelValues(program)))
		second := b.enter()
		<-time.After(time.Minute)
		require.False(t, second.leads(), "the first one renews its lease")
		require.Equal(t, first.lock.Identity(), *b.lease().Spec.HolderIdentity)
		require.NotEqual(t, first.lock.Identity(), second.lock.Identity(), "on the same host")

		first.stop()
		<-time.After(500 * time.Millisecond)
		require.Equal(t, first.lock.Identity(), *b.lease().Spec.HolderIdentity, "its work still drains")
		asked := time.Now()
		<-second.won
		require.Less(t, time.Since(asked), 6*time.Second, "want no wait for the lease to run out")
		<-first.ended
		require.NoError(t, first.err)
		require.True(t, first.worked)
		second.stop()
		<-second.ended
		require.NoError(t, second.err)
		require.Empty(t, *b.lease().Spec.HolderIdentity, "the last one gave it up")
	})
}

// A server that answers with errors, and one that does not answer.
func TestElection_ALeaderThatCannotRenewEndsBeforeAnotherCanLead(t *testing.T) {
	for name, breakServer := range map[string]func(*apiserver.Faults){
		"errors": func(f *apiserver.Faults) {
			f.FailNext(-1, apiserver.Failure{Verb: "get", Resource: "leases", Code: http.StatusInternalServerError})
			f.FailNext(-1, apiserver.Failure{Verb: "update", Resource: "leases", Code: http.StatusInternalServerError})
		},
		"silence": func(f *apiserver.Faults) { f.Delay(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			inBooth(t, func(b *booth) {
				c := b.enter()
				<-time.After(time.Minute)
				breakServer(b.server.Faults())
				broken := time.Now()
				<-c.ended
				require.ErrorIs(t, c.err, errLost)
				require.False(t, c.worked, "the run did not wait for work that must end with the process")
				require.Less(t, time.Since(broken), 15*time.Second)
				require.Greater(t, time.Since(broken), 7*time.Second,
					"want it to try for as long as the deadline allows")
				require.Error(t, c.ready())
				require.NoError(t, c.alive(), "a process that is about to end is not stuck")
				<-time.After(time.Minute)
				require.ErrorContains(t, c.alive(), "failed election to renew leadership", "it should have ended")
			})
		})
	}
}

// The cause does not matter: the lease was deleted or edited, or this process slept for longer than the lease.
func TestElection_ALeaderThatSeesAnotherHoldItsLeaseEndsAtOnce(t *testing.T) {
	inBooth(t, func(b *booth) {
		c := b.enter()
		<-time.After(61 * time.Second) // between two renewals
		lease, now := b.lease(), metav1.NowMicro()
		*lease.Spec.HolderIdentity, lease.Spec.RenewTime = "another", &now
		b.write(lease)
		taken := time.Now()
		<-c.ended
		require.ErrorIs(t, c.err, errLost)
		require.Less(t, time.Since(taken), 3*time.Second, "want no more than one retry period")
		require.Equal(t, "another", *b.lease().Spec.HolderIdentity)
	})
}

func TestElection_AReplicaThatMayNotWriteItsLeaseIsNotReadyUntilItMay(t *testing.T) {
	for _, verb := range []string{"get", "create"} {
		t.Run(verb, func(t *testing.T) {
			inBooth(t, func(b *booth) {
				b.server.Faults().FailNext(-1, apiserver.Failure{Verb: verb, Resource: "leases",
					Code: http.StatusForbidden, Message: "ask your operator"})
				c := b.enter()
				<-time.After(time.Minute)
				require.ErrorContains(t, c.ready(), "lease default/"+program)
				require.ErrorContains(t, c.ready(), "ask your operator")
				require.False(t, c.leads())
				b.server.Faults().Reset()
				<-c.won
				require.NoError(t, c.ready())
				c.stop()
				<-c.ended
				require.NoError(t, c.err)
			})
		})
	}
}

// scriptedLock answers with what it is told to.
type scriptedLock struct {
	resourcelock.Interface
	record resourcelock.LeaderElectionRecord
	err    error
}

func (l *scriptedLock) Identity() string { return "me" }
func (l *scriptedLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record := l.record
	return &record, nil, l.err
}
func (l *scriptedLock) Create(context.Context, resourcelock.LeaderElectionRecord) error { return l.err }
func (l *scriptedLock) Update(context.Context, resourcelock.LeaderElectionRecord) error { return l.err }

// A read before a write does not make a replica ready for a moment.
func TestElection_OnlyWhatEndsATryTellsWhetherTheLeaseCanBeHad(t *testing.T) {
	leases := coordinationv1.Resource("leases")
	forbidden := apierrors.NewForbidden(leases, "a", errors.New("ask your operator"))
	script := &scriptedLock{}
	lock := &watchedLock{Interface: script}
	get := func(holder string, err error) error {
		script.record.HolderIdentity, script.err = holder, err
		_, _, got := lock.Get(t.Context())
		require.Equal(t, err, got)
		return lock.lastError()
	}
	write := func(err error) error {
		script.err = err
		require.Equal(t, err, lock.Create(t.Context(), script.record))
		created := lock.lastError()
		require.Equal(t, err, lock.Update(t.Context(), script.record))
		require.Equal(t, created, lock.lastError())
		return created
	}
	require.ErrorIs(t, write(forbidden), forbidden)
	require.ErrorIs(t, get("", apierrors.NewNotFound(leases, "a")), forbidden, "it will be made")
	require.ErrorIs(t, get("", nil), forbidden, "it will be taken")
	require.ErrorIs(t, get("me", nil), forbidden, "it will be renewed")
	require.NoError(t, get("other", nil), "another has it, and that is all")
	require.ErrorIs(t, get("", forbidden), forbidden)
	require.NoError(t, write(nil))
	require.NoError(t, write(apierrors.NewConflict(leases, "a", errors.New("another was quicker"))))
	require.NoError(t, write(apierrors.NewAlreadyExists(leases, "a")))
}

func TestElection_AReplicaWhoseControllerIsNeverReadyNeverLeads(t *testing.T) {
	inBooth(t, func(b *booth) {
		unfit := b.enterUnfit()
		<-time.After(time.Hour)
		require.False(t, unfit.leads())
		require.ErrorIs(t, unfit.ready(), errNotJoined)
		require.NoError(t, unfit.alive(), "a restart would not help")
		other := b.enter()
		require.True(t, other.leads(), "nobody has taken the lease before")
		other.stop()
		<-other.ended
		unfit.fit.Store(true)
		<-unfit.won
		require.NoError(t, unfit.ready())
	})
	inBooth(t, func(b *booth) {
		unfit := b.enterUnfit()
		unfit.stop()
		<-unfit.ended
		require.NoError(t, unfit.err)
		require.True(t, unfit.worked)
	})
}

func fit() error { return nil }

func TestElection_EndsWithItsWork(t *testing.T) {
	inBooth(t, func(b *booth) {
		e, err := newElection(b.cfg, parse(t, "--leader-elect", "--namespace=default"), program)
		require.NoError(t, err)
		failure := errors.New("no work today")
		require.ErrorIs(t, e.run(context.Background(), fit, func(context.Context) error { return failure }), failure)
	})
}

func TestElection_NoneMeansJustWork(t *testing.T) {
	var e *election
	require.NoError(t, e.alive())
	require.NoError(t, e.ready())
	require.ErrorIs(t, e.run(t.Context(), fit, func(context.Context) error { return io.EOF }), io.EOF)
}

func TestElection_TheLeasesNamespaceIsTheFlagsThenThePodsThenTheOneWorkedIn(t *testing.T) {
	pod := filepath.Join(t.TempDir(), "namespace")
	require.NoError(t, os.WriteFile(pod, []byte("of-the-pod\n"), 0o600))
	noPod := filepath.Join(t.TempDir(), "namespace")
	for _, c := range []struct{ flag, file, worked, want string }{
		{"of-the-flag", pod, "worked", "of-the-flag"},
		{"", pod, "worked", "of-the-pod"},
		{"", noPod, "worked", "worked"},
	} {
		got, err := (&Election{Namespace: c.flag}).namespaceOr(c.file, c.worked)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	_, err := (&Election{}).namespaceOr(noPod, "")
	require.ErrorContains(t, err, "--leader-elect-namespace: want the namespace of the lease", "with --shards, too")
	_, err = (&Election{}).namespaceOr(t.TempDir(), "")
	require.Error(t, err, "a file that is there but cannot be read")
}

func TestElection_DefaultsAreClientGos(t *testing.T) {
	f := parse(t)
	require.Equal(t, Election{undecided: true, Name: program, Lease: 15 * time.Second, Renew: 10 * time.Second,
		Retry: 2 * time.Second}, f.Election)
}

func TestElection_WithoutAWordItIsOnInAPodAndElsewhereAWarningTellsThatItIsOff(t *testing.T) {
	pod := filepath.Join(t.TempDir(), "namespace")
	require.NoError(t, os.WriteFile(pod, []byte("of-the-pod"), 0o600))
	noPod := filepath.Join(t.TempDir(), "namespace")
	for _, c := range []struct {
		file         string
		args         []string
		isOn, isTold bool
	}{
		{pod, nil, true, false},
		{noPod, nil, false, true},
		{pod, []string{"--leader-elect=false"}, false, false},
		{noPod, []string{"--leader-elect=false"}, false, false},
		{noPod, []string{"--leader-elect"}, true, false},
	} {
		var said []string
		logger := funcr.New(func(_, line string) { said = append(said, line) }, funcr.Options{})
		f := parse(t, c.args...)
		f.Election.decide(klog.NewContext(t.Context(), logger), c.file)
		require.Equal(t, c.isOn, f.Election.Enabled, c)
		require.Equal(t, c.isTold, len(said) == 1 && strings.Contains(said[0], "--leader-elect-namespace"), "%v: %v", c, said)
	}
}

// client-go takes a lease without a duration for one that has run out, whoever works under it.
func TestElection_NonsenseInTheLeaseNeitherEndsNorDelaysAnything(t *testing.T) {
	for name, change := range map[string]func(*coordinationv1.LeaseSpec){
		"no duration":          func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = nil },
		"duration of 68 years": func(s *coordinationv1.LeaseSpec) { s.LeaseDurationSeconds = ptr.To[int32](math.MaxInt32) },
		"no transitions":       func(s *coordinationv1.LeaseSpec) { s.LeaseTransitions = nil },
		"most transitions":     func(s *coordinationv1.LeaseSpec) { s.LeaseTransitions = ptr.To[int32](math.MaxInt32) },
		"negative transitions": func(s *coordinationv1.LeaseSpec) { s.LeaseTransitions = ptr.To[int32](-2) },
		"no times":             func(s *coordinationv1.LeaseSpec) { s.AcquireTime, s.RenewTime = nil, nil },
		"only a holder": func(s *coordinationv1.LeaseSpec) {
			*s = coordinationv1.LeaseSpec{HolderIdentity: s.HolderIdentity}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBooth(t, func(b *booth) {
				former := b.enter()
				former.stop()
				<-former.ended
				lease := b.lease()
				*lease.Spec.HolderIdentity = "another" // which works, and then is gone
				*lease.Spec.LeaseDurationSeconds = 15
				change(&lease.Spec)
				b.write(lease)
				c := b.enter()
				<-time.After(14 * time.Second)
				require.False(t, c.leads())
				<-time.After(time.Minute)
				require.True(t, c.leads())
				require.NoError(t, c.ready())
				require.EqualValues(t, 15, *b.lease().Spec.LeaseDurationSeconds)
				require.Contains(t, []int32{1, 2}, *b.lease().Spec.LeaseTransitions)
			})
		})
	}
}
