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
	taken func() // is called when another replica has it, or may have it
	// validity is not zero if other replicas have this identity, too. Then one of them renews for all, and this replica
	// works for so long after a renewal was sent. client-go's renew deadline counts from the answer, so it is too late.
	validity time.Duration

	mu     sync.Mutex  // guards what follows
	ours   bool        // when the lease was written last
	last   error       // of what ended a try
	known  known       // what updates are based on
	expiry *time.Timer // calls taken when validity is over
}

// known is a version of the lease, and when it was asked for or sent. It was not outdated then.
type known struct {
	at      time.Time
	renewed time.Time // as the lease says; only whether it has changed counts
}

// renewTime returns when a lease was renewed, with no more digits than a server keeps.
func renewTime(record *resourcelock.LeaderElectionRecord) time.Time {
	return record.RenewTime.Truncate(time.Microsecond)
}

// Get reads the lease. Unless another replica holds it, a write follows, and says how it goes.
func (l *watchedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	asked := time.Now()
	record, raw, err := l.Interface.Get(ctx)
	if err == nil {
		l.knows(asked, record)
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

// Update takes or renews the lease. If another version conflicts in which a sibling has renewed it, it is renewed. The
// sibling did so after this replica's version was asked for. So that is when the renewal counts from: whatever time the
// requests took, validity begins no later than the sibling's own.
func (l *watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	ours, before := l.ours, l.known
	l.mu.Unlock()
	err := l.wrote(ctx, record, l.Interface.Update)
	if l.validity == 0 || !ours || !apierrors.IsConflict(err) {
		return err
	}
	held, _, failed := l.Get(ctx)
	if failed != nil || held.HolderIdentity != l.Identity() || renewTime(held).Equal(before.renewed) {
		return err // an edit of something else is no renewal
	}
	if time.Since(before.at) >= l.validity {
		return err
	}
	l.extend(before.at)
	return nil
}

func (l *watchedLock) wrote(
	ctx context.Context, record resourcelock.LeaderElectionRecord,
	write func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	sent := time.Now()
	err := write(ctx, record)
	if err == nil {
		l.knows(sent, &record)
		l.mu.Lock()
		l.ours = record.HolderIdentity == l.Identity()
		l.mu.Unlock()
		l.extend(sent)
	}
	return l.note(err)
}

func (l *watchedLock) knows(since time.Time, record *resourcelock.LeaderElectionRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = known{since, renewTime(record)}
}

// extend lets this replica work until validity has passed since then. If that is over already, it ends.
func (l *watchedLock) extend(since time.Time) {
	if l.validity == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.expiry == nil || l.expiry.Stop() {
		l.expiry = time.AfterFunc(time.Until(since.Add(l.validity)), l.taken)
	}
}

// rest ends what extend has begun, when the replica's work has returned.
func (l *watchedLock) rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.expiry != nil {
		l.expiry.Stop()
	}
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
