package shards

import (
	"context"
	"sync"
	"time"
)

// shard is what a member knows of one shard beside its fence.
type shard struct {
	// Invariant: held only while the fence names the term, and was seen by the watch to do so.
	held bool
	pins int // reconciles that run, also after the shard was lost
	// ctx is that of the reconciles since the shard was got last. cancel is nil before that, and harmless afterwards.
	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  *time.Timer // cancels reconciles that hold a hand-over up
	lostAt time.Time

	given uint64 // versions of the fence up to this one were given away, even if the write seemed to fail

	wantedAt time.Time // since when the shard is assigned to this member, while it does not hold it
	freeAt   time.Time // since when it has no owner, as far as this member saw
}

// Held returns the shards that this member works on, in order.
func (m *Member) Held() (held []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for s := range m.shards {
		if m.ownsLocked(s) {
			held = append(held, s)
		}
	}
	return held
}

// Owns reports whether this member works on the shard. It may be over at once: reconcile between [Member.Begin] and
// done.
func (m *Member) Owns(shard int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ownsLocked(shard)
}

// ownsLocked does not trust the timer alone, which comes late after the process was suspended.
func (m *Member) ownsLocked(s int) bool {
	return 0 <= s && s < len(m.shards) && m.shards[s].held && time.Now().Before(m.deadline)
}

// Begin pins a shard for one reconcile. If the member does not hold the shard, it is not ok. Else the shard is not
// handed over before done is called. The reconcile must use the context and return soon after it ends: it is cancelled,
// with [ErrNotHeld] as the cause, before the member's Lease ends, and if a hand-over has waited for LeaseDuration. done
// may be called more than once.
func (m *Member) Begin(parent context.Context, shard int) (ctx context.Context, done func(), ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ownsLocked(shard) {
		return nil, nil, false
	}
	m.shards[shard].pins++
	m.pins++
	ctx, cancel := context.WithCancelCause(parent)
	held := m.shards[shard].ctx
	stop := context.AfterFunc(held, func() { cancel(context.Cause(held)) })
	return ctx, sync.OnceFunc(func() {
		stop()
		cancel(nil)
		m.unpin(shard)
	}), true
}

func (m *Member) unpin(s int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sh := &m.shards[s]
	sh.pins--
	m.pins--
	if sh.pins == 0 && !sh.held {
		m.settledLocked(sh)
	}
}

// acquireLocked begins work on a shard.
func (m *Member) acquireLocked(s int, now time.Time) {
	sh := &m.shards[s]
	sh.held = true
	m.held++
	sh.ctx, sh.cancel = context.WithCancelCause(context.Background())
	m.gained = append(m.gained, s)
	if told := m.opts.Metrics.Gained; told != nil {
		told(since(sh.freeAt, now), since(sh.wantedAt, now))
	}
	sh.freeAt, sh.wantedAt = time.Time{}, time.Time{}
}

func since(t, now time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return now.Sub(t)
}

// releaseLocked ends work on a shard, if there is any: no reconcile begins, and those that run have as long as patience.
func (m *Member) releaseLocked(s int, patience time.Duration) {
	sh := &m.shards[s]
	if sh.held {
		sh.held, sh.lostAt = false, time.Now()
		m.held--
		m.lost = append(m.lost, s)
		if sh.pins == 0 {
			m.settledLocked(sh)
			return
		}
	}
	if sh.pins > 0 && patience == 0 {
		sh.cancel(ErrNotHeld)
	} else if sh.pins > 0 && sh.limit == nil {
		cancel := sh.cancel
		sh.limit = time.AfterFunc(patience, func() { cancel(ErrNotHeld) })
	}
}

// settledLocked takes note that a shard that was lost has no more reconciles.
func (m *Member) settledLocked(sh *shard) {
	if sh.limit != nil {
		sh.limit.Stop()
		sh.limit = nil
	}
	sh.cancel(ErrNotHeld)
	if told := m.opts.Metrics.Lost; told != nil {
		told(time.Since(sh.lostAt))
	}
	wake(m.decideCh)
	wake(m.leftCh)
	wake(m.renewCh) // it may be waiting for that to join anew
}
