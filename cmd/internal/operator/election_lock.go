package operator

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// watchedLock remembers the lease's last error, which client-go only logs. It reports at once when another replica
// holds a lease that was ours. client-go would retry until the renew deadline, while both replicas write.
type watchedLock struct {
	resourcelock.Interface
	taken func() // is called when another replica has it
	// siblings is not zero if other replicas have this identity, too. Then one of them renews for all. It is how old
	// such a renewal may be to count as one of now: the lease's duration, less the renew deadline and one more try.
	siblings time.Duration

	mu    sync.Mutex
	ours  bool      // when the lease was written last; guarded by mu
	last  error     // guarded by mu
	known time.Time // when the request began whose answer had the version that updates are based on; guarded by mu
}

// Get reads the lease. Unless another replica holds it, a write follows, and says how it goes.
func (l *watchedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	asked := time.Now()
	record, raw, err := l.Interface.Get(ctx)
	if err == nil {
		l.knows(asked)
	}
	free := err == nil && (record.HolderIdentity == "" || record.HolderIdentity == l.Identity())
	if apierrors.IsNotFound(err) || free {
		return record, raw, err
	}
	if err == nil && l.wasOurs() {
		l.taken()
	}
	return record, raw, l.note(err)
}

// Create makes the lease.
func (l *watchedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.wrote(ctx, record, l.Interface.Create)
}

// Update takes or renews the lease. If a sibling has renewed it since this replica knew it, and that was not long ago,
// it is renewed.
func (l *watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	isNew := l.siblings > 0 && l.ours && time.Since(l.known) < l.siblings
	l.mu.Unlock()
	err := l.wrote(ctx, record, l.Interface.Update)
	if !isNew || !apierrors.IsConflict(err) {
		return err
	}
	if held, _, failed := l.Get(ctx); failed == nil && held.HolderIdentity == l.Identity() {
		return nil
	}
	return err
}

func (l *watchedLock) wrote(
	ctx context.Context, record resourcelock.LeaderElectionRecord,
	write func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	sent := time.Now()
	err := write(ctx, record)
	if err == nil {
		l.knows(sent)
		l.mu.Lock()
		l.ours = record.HolderIdentity == l.Identity()
		l.mu.Unlock()
	}
	return l.note(err)
}

func (l *watchedLock) knows(since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = since
}

func (l *watchedLock) wasOurs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ours
}

// note remembers err, unless it is a conflict with another replica.
func (l *watchedLock) note(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = err
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		l.last = nil
	}
	return err
}

func (l *watchedLock) lastError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}
