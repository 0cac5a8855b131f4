package operator

import (
	"context"
	"math"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// watchedLock remembers the lease's last error, which client-go only logs. It reports at once when another replica
// holds a lease that was ours. client-go would retry until the renew deadline, while both replicas write.
type watchedLock struct {
	resourcelock.Interface
	lasts time.Duration // of a lease that does not say it
	taken func()        // is called when another replica has it

	mu   sync.Mutex // guards what follows
	ours bool       // when the lease was written last
	last error      // of what ended a try
}

// Get reads the lease. Unless another replica holds it, a write follows, and says how it goes.
func (l *watchedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil {
		l.mend(record)
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

// mend replaces what makes no sense in a lease, which anybody may have written. client-go would take a lease without a
// duration for one that has run out, although its holder works. A count that cannot grow would be refused for ever.
func (l *watchedLock) mend(record *resourcelock.LeaderElectionRecord) {
	if record.LeaseDurationSeconds <= 0 || record.LeaseDurationSeconds > int(2*longestLease/time.Second) {
		record.LeaseDurationSeconds = int(l.lasts / time.Second)
	}
	if record.LeaderTransitions < 0 || record.LeaderTransitions >= math.MaxInt32 {
		record.LeaderTransitions = 0
	}
}

// Create makes the lease.
func (l *watchedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.wrote(record, l.Interface.Create(ctx, record))
}

// Update takes, renews or releases the lease.
func (l *watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.wrote(record, l.Interface.Update(ctx, record))
}

func (l *watchedLock) wrote(record resourcelock.LeaderElectionRecord, err error) error {
	if err == nil {
		l.mu.Lock()
		l.ours = record.HolderIdentity == l.Identity()
		l.mu.Unlock()
	}
	return l.note(err)
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
