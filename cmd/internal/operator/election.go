package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
)

// errLost says that another replica may be writing by now. So this process must not write any more, not even to finish
// its work.
var errLost = errors.New("the lease was lost: it could not be renewed in time, or another replica holds it")

// stuckAfter is how long a leader may run on after its lease expired, before /healthz fails. Kubernetes' own components
// use the same value.
const stuckAfter = 20 * time.Second

// election is one process's part in the election of the replica that writes. The others are standbys: their caches are
// filled and follow the cluster. So a takeover needs no list, and a standby's /readyz shows whether it could lead. Each
// standby costs memory and its watches.
type election struct {
	lock    *watchedLock
	elector *leaderelection.LeaderElector
	stuck   *leaderelection.HealthzAdaptor
	events  record.EventBroadcaster
	won     chan struct{} // closed when this process holds the lease
}

func newElection(cfg *rest.Config, f *Flags, program string) (*election, error) {
	namespace, err := f.LeaseNamespace()
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	client, err := typedcorev1.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	e := &election{
		stuck:  leaderelection.NewLeaderHealthzAdaptor(stuckAfter),
		events: record.NewBroadcaster(),
		won:    make(chan struct{}),
	}
	e.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.Events(namespace)})
	// The host name is not enough: a container that restarts in its Pod must not take the former one's lease for its
	// own.
	identity := host + "_" + string(uuid.NewUUID())
	locking := resourcelock.ResourceLockConfig{
		Identity:      identity,
		EventRecorder: e.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: program, Host: host}),
	}
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, f.Election.Name, locking,
		cfg, f.Election.Renew)
	if err != nil {
		return nil, err
	}
	e.lock = &watchedLock{Interface: lock, lasts: f.Election.Lease, last: errNotJoined}
	e.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: f.Election.Name, Lock: e.lock, WatchDog: e.stuck,
		LeaseDuration: f.Election.Lease, RenewDeadline: f.Election.Renew, RetryPeriod: f.Election.Retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(e.won) },
			OnStoppedLeading: func() {},
			OnNewLeader: func(leader string) {
				klog.Background().Info("Leader", "identity", leader, "thisProcess", leader == identity)
			},
		},
	})
	if err != nil {
		return nil, err
	}
	e.stuck.SetLeaderElection(e.elector)
	return e, nil
}

// readyPoll is how often a replica that has not joined yet asks whether its controller is ready.
const readyPoll = 100 * time.Millisecond

// errNotJoined says that the controller has not been ready yet, or that the first try for the lease is on its way.
var errNotJoined = errors.New("this replica has not tried for it yet")

// run takes part while work runs, from the moment when the controller is first ready: a replica that cannot fill its
// caches must not keep the others from the lease. It gives the lease up only when work has returned. If the lease is lost, it returns
// errLost at once, with work still running: the process must end. As with client-go, a write that was sent before the
// lease expired cannot be cancelled.
func (e *election) run(ctx context.Context, isReady func() error, work func(context.Context) error) error {
	if e == nil {
		return work(ctx)
	}
	electing, stopElecting := context.WithCancel(context.WithoutCancel(ctx))
	e.lock.taken = stopElecting
	var electors sync.WaitGroup
	defer e.events.Shutdown()
	defer electors.Wait()
	defer stopElecting()
	lost := make(chan struct{})
	electors.Go(func() {
		defer close(lost)
		becameReady := wait.PollUntilContextCancel(electing, readyPoll, true,
			func(context.Context) (bool, error) { return isReady() == nil, nil })
		if becameReady == nil {
			e.elector.Run(electing)
		}
	})
	worked := make(chan error, 1)
	go func() { worked <- work(ctx) }()
	select {
	case <-lost:
		return errLost
	case err := <-worked:
		stopElecting()
		electors.Wait()
		select {
		case <-e.won:
			e.release(ctx)
		default: // there is nothing to give up
		}
		return err
	}
}

// release gives the lease up, so that another replica need not wait until it expires. client-go's ReleaseOnCancel would
// do so, too. But it also releases after a failed renewal, while the workers still run. That may take up to another
// renew deadline before the process learns of it.
func (e *election) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		held, _, err := e.lock.Get(ctx)
		if err != nil || held.HolderIdentity != e.lock.Identity() {
			return err
		}
		now := metav1.Now()
		return e.lock.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaderTransitions: held.LeaderTransitions, LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now,
		})
	})
	if err != nil {
		klog.FromContext(ctx).Info("The lease was not given up, and will run out",
			"lease", e.lock.Describe(), "err", err)
	}
}

// alive fails in a leader that neither renews its lease nor ends.
func (e *election) alive() error {
	if e == nil {
		return nil
	}
	return e.stuck.Check(nil)
}

// ready fails in a replica that could not lead, because it may not read the lease, or failed to write it. A standby has
// not tried to write.
func (e *election) ready() error {
	if e == nil {
		return nil
	}
	if err := e.lock.lastError(); err != nil {
		return fmt.Errorf("lease %s: %w", e.lock.Describe(), err)
	}
	return nil
}

// podNamespaceFile is the file with the name of a Pod's namespace.
const podNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// LeaseNamespace returns the lease's namespace: the flag's, the Pod's, or the one that the controller watches.
func (f *Flags) LeaseNamespace() (string, error) {
	return f.Election.namespaceOr(podNamespaceFile, f.Namespace)
}

func (f *Election) namespaceOr(file, worked string) (string, error) {
	pod, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if namespace := cmp.Or(f.Namespace, strings.TrimSpace(string(pod)), worked); namespace != "" {
		return namespace, nil
	}
	return "", fmt.Errorf("--leader-elect-namespace: want the namespace of the lease "+
		"(in a Pod it is the Pod's own, as %s says)", file)
}
