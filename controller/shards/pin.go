package shards

import (
	"context"
	"slices"
	"sync"
	"time"
)

// shard is what a member knows of one shard beside its fence.
type shard struct {
	// Invariant: held only while the fence names the term, and the watch has shown that.
	held bool
	pins int // reconciles that run, also after the shard was lost
	// ctx is that of the reconciles, since the shard was got last; nil if it never was.
	ctx    context.Context
	cancel context.CancelCauseFunc
	limit  *time.Timer // cancels reconciles that hold a hand-over up
	given  uint64      // versions of the fence up to this one were given away, even if the write seemed to fail

	lostAt, wantedAt, freeAt time.Time // for the metrics: zero if it was not lost, is not wanted, is not free
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

// Owns reports whether this member works on the shard. It may be over at once: see [Member.Begin].
func (m *Member) Owns(shard int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ownsLocked(shard)
}

// ownsLocked does not trust the timer of the deadline alone. It comes late after the process was suspended.
func (m *Member) ownsLocked(s int) bool {
	return 0 <= s && s < len(m.shards) && m.shards[s].held && time.Now().Before(m.deadline)
}

// Begin pins a shard for one reconcile. If the member does not hold it, ok is false and the rest is nil. Else the shard
// is not handed over before done is called. The reconcile must use ctx, and return within Options.StopWithin after it
// ends. It is cancelled with the cause [ErrNotHeld] before the member's Lease ends, or when a hand-over has waited for
// StopWithin. done may be called more than once.
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
		m.settleLocked(sh)
	}
}

// acquireLocked begins work on a shard.
func (m *Member) acquireLocked(s int, now time.Time) {
	sh := &m.shards[s]
	sh.held = true
	sh.ctx, sh.cancel = context.WithCancelCause(context.Background())
	m.held++
	m.gained = append(m.gained, s)
	if m.opts.Metrics.Gained != nil {
		unowned := time.Duration(0)
		if !sh.freeAt.IsZero() {
			unowned = now.Sub(sh.freeAt)
		}
		m.opts.Metrics.Gained(unowned, now.Sub(sh.wantedAt))
	}
	sh.freeAt, sh.wantedAt = time.Time{}, time.Time{}
}

// releaseLocked ends work on a shard: no reconcile begins, and those that run are cancelled after patience.
func (m *Member) releaseLocked(s int, patience time.Duration) {
	sh := &m.shards[s]
	if sh.held {
		sh.held, sh.lostAt = false, time.Now()
		m.held--
		if at := slices.Index(m.gained, s); at >= 0 { // nobody was told of it
			m.gained = slices.Delete(m.gained, at, at+1)
		} else {
			m.lost = append(m.lost, s)
		}
		if sh.pins == 0 {
			m.settleLocked(sh)
		}
	}
	if sh.pins > 0 && patience == 0 {
		sh.cancel(ErrNotHeld)
	} else if sh.pins > 0 && sh.limit == nil {
		cancel := sh.cancel
		sh.limit = time.AfterFunc(patience, func() { cancel(ErrNotHeld) })
	}
}

// settleLocked is called when a shard that was lost has no more reconciles.
func (m *Member) settleLocked(sh *shard) {
	if sh.limit != nil {
		sh.limit.Stop()
		sh.limit = nil
	}
	sh.cancel(ErrNotHeld)
	if m.opts.Metrics.Lost != nil {
		m.opts.Metrics.Lost(time.Since(sh.lostAt))
	}
	wake(m.decideCh)
	wake(m.renewCh) // it may be waiting for that to join anew
}
