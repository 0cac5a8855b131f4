package shards

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// shard is what a member knows of one shard beside its fence.
type shard struct {
	// ctx is that of the reconciles: another one each time that the shard is got, nil while it is not held. It is held
	// only after the watch has shown the fence with this member's term, and until it shows another.
	ctx     context.Context
	cancel  context.CancelFunc
	pins    int             // reconciles that run, also after the shard was lost
	told    context.Context // of the gain that OnChange knows of; nil if it knows of the loss
	given   uint64          // versions of the fence up to this one were given away, even if the write seemed to fail
	lostAt  time.Time       // when it was lost last
	unowned time.Time       // since when nobody works on it; zero if that is not known
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
	return 0 <= s && s < len(m.shards) && m.shards[s].ctx != nil && time.Now().Before(m.deadline)
}

// Begin pins a shard for one reconcile. If the member does not hold it, ok is false and the rest is nil: OnChange tells
// when the member gets it. Else the shard is not handed over before done is called; it may be called more than once. The
// reconcile must use ctx, and return within StopWithin after ctx ends.
func (m *Member) Begin(parent context.Context, shard int) (ctx context.Context, done func(), ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ownsLocked(shard) {
		return nil, nil, false
	}
	sh := &m.shards[shard]
	sh.pins++
	m.pins++
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(sh.ctx, cancel)
	return ctx, sync.OnceFunc(func() {
		stop()
		cancel()
		m.mu.Lock()
		defer m.mu.Unlock()
		sh.pins--
		m.pins--
		if sh.pins == 0 && sh.ctx == nil {
			m.wake() // to hand it over
			m.unpinned.Broadcast()
		}
	}), true
}

// acquireLocked begins work on a shard.
func (m *Member) acquireLocked(s int) {
	sh := &m.shards[s]
	sh.ctx, sh.cancel = context.WithCancel(context.Background())
	sh.unowned = cmp.Or(sh.unowned, time.Now())
}

// releaseLocked ends work on a shard: no reconcile begins, and those that run are cancelled after patience.
func (m *Member) releaseLocked(s int, patience time.Duration) {
	sh := &m.shards[s]
	if sh.ctx != nil || sh.pins > 0 && patience == 0 {
		time.AfterFunc(patience, sh.cancel)
	}
	if sh.ctx != nil {
		sh.ctx, sh.lostAt, sh.unowned = nil, time.Now(), time.Time{}
	}
}

// dropLocked lets all shards go, and cancels their reconciles. The fences still name the term. If a renewal succeeds
// before somebody revokes it, work goes on.
func (m *Member) dropLocked(patience time.Duration) {
	for s := range m.shards {
		m.releaseLocked(s, patience)
	}
	m.wake()
}

// tell passes on what the member has got and lost since it was called last. Only decideLoop calls it.
func (m *Member) tell() {
	gained, lost := map[int]time.Time{}, []int(nil)
	m.mu.Lock()
	for s := range m.shards {
		sh := &m.shards[s]
		if sh.told != nil && sh.told != sh.ctx {
			lost = append(lost, s)
		}
		if sh.ctx != nil && sh.told != sh.ctx {
			gained[s] = sh.unowned
		}
		sh.told = sh.ctx
	}
	m.mu.Unlock()
	if len(gained)+len(lost) > 0 && m.opts.OnChange != nil {
		m.opts.OnChange(gained, lost)
	}
}
