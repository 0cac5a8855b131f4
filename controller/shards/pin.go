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
	gain int // grows each time that the shard is got
	pins int // reconciles that run, also after the shard was lost
	// ctx is that of the reconciles, since the shard was got last; nil if it never was.
	ctx    context.Context
	cancel context.CancelCauseFunc
	given  uint64    // versions of the fence up to this one were given away, even if the write seemed to fail
	idle   time.Time // see Options.OnChange; zero if it is not known
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
	sh := &m.shards[shard]
	sh.pins++
	held := sh.ctx
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(held, func() { cancel(context.Cause(held)) })
	return ctx, sync.OnceFunc(func() {
		stop()
		cancel(nil)
		m.mu.Lock()
		defer m.mu.Unlock()
		if sh.pins--; sh.pins == 0 && !sh.held {
			wake(m.decideCh) // to hand it over
			wake(m.renewCh)  // to join anew
			m.idle.Broadcast()
		}
	}), true
}

// busyLocked reports whether any reconcile runs.
func (m *Member) busyLocked() bool {
	return slices.ContainsFunc(m.shards, func(sh shard) bool { return sh.pins > 0 })
}

// acquireLocked begins work on a shard.
func (m *Member) acquireLocked(s int) {
	sh := &m.shards[s]
	sh.held = true
	sh.gain++
	sh.ctx, sh.cancel = context.WithCancelCause(context.Background())
	if sh.idle.IsZero() {
		sh.idle = time.Now()
	}
}

// releaseLocked ends work on a shard: no reconcile begins, and those that run are cancelled after patience.
func (m *Member) releaseLocked(s int, patience time.Duration) {
	sh := &m.shards[s]
	if cancel := sh.cancel; sh.held || cancel != nil && patience == 0 {
		time.AfterFunc(patience, func() { cancel(ErrNotHeld) })
	}
	sh.held = false
}

// dropLocked lets all shards go, and cancels their reconciles. The fences still name the term. If a renewal succeeds
// before somebody revokes it, work goes on.
func (m *Member) dropLocked(patience time.Duration) {
	for s := range m.shards {
		m.releaseLocked(s, patience)
	}
	wake(m.decideCh)
}

// tell passes on what the member has got and lost since it was called last. Only decideLoop calls it.
func (m *Member) tell() {
	gained, lost := map[int]time.Time{}, []int(nil)
	m.mu.Lock()
	for s, sh := range m.shards {
		now := 0
		if sh.held {
			now = sh.gain
		}
		if now == m.told[s] {
			continue
		}
		if m.told[s] != 0 {
			lost = append(lost, s)
		}
		if now != 0 {
			gained[s] = sh.idle
		}
		m.told[s] = now
	}
	m.mu.Unlock()
	if len(gained)+len(lost) > 0 && m.opts.OnChange != nil {
		m.opts.OnChange(gained, lost)
	}
}
