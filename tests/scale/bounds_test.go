package scale

import "time"

// step is one kind of thing that happens to a group.
type step struct {
	name string
	do   func(w *world) error
	// hits is what the step is about. It counts as taken only if something of this kind has happened.
	hits kind
	// gap is the longest time that a cell may be without work, and after the longest once the fault is over.
	gap, after time.Duration
}

// The bounds, on the slowest clock.
const (
	slowest = time.Second * (leaseSeconds + 1) / leaseSeconds
	// retry is RenewEvery: how long a request may take, and how long the next one waits.
	retry = leaseSeconds / 5 * slowest
	// planned is a move that nothing disturbs: a reconcile finishes, some requests pass, of which one may be refused
	// and is sent again after RenewEvery, and the new owner's worker looks around.
	planned = 3*beat + retry + time.Second
	// back is for one that can reach the server again: its watch may wait as long as a backoff lasts.
	back = planned + retry*11/10
	// crash is for one that is gone. Its Lease is waited out, from when its last renewal was seen, and is revoked. One
	// that was not told that it has joined waits for as long before it joins again.
	crash = planned + leaseSeconds*slowest
	// blindness takes two Leases: one that sees nothing renews once more, and what it works on meanwhile is its own.
	// What it should take is waited for until its Lease has run out, too.
	blindness = crash + leaseSeconds*slowest
	// Some faults last so long.
	longest = 2 * lease
)

var steps = []step{
	{"join", (*world).join, joined, planned, planned},
	{"leave", (*world).leaveOne, left, planned, planned},
	{"kill", (*world).killSome, killed, crash, crash},
	{"restart", (*world).restart, restarted, crash, crash},
	{"partition", (*world).partition, partitioned, crash, back},
	{"renewals lost", (*world).loseRenewals, renewalLost, crash, back},
	{"stalled watch", (*world).stall, watchStalled, blindness, back},
	{"blind joiner", (*world).joinBlind, watchStalled, blindness, back},
	// A slow one may lose its Lease, and those that take its shards may be slow, too: two writes, each tried twice.
	{"slow", (*world).slow, slow, crash + 4*retry, crash},
	// One request after the other may be lost, for as long as that lasts.
	{"lossy", (*world).lossy, requestLost, longest + crash, crash},
	// A renewal that arrives just before its sender's Lease has run out counts. Its sender has stopped at 7/10 of that.
	{"held put", (*world).hold, putHeld, crash + leaseSeconds*slowest*4/10, back},
	// The joiner, and those that hand over, renew for two seconds, and then once more. Who waits for the answer to a
	// write that is held gives up after RenewEvery.
	{"held hand-over", (*world).holdFences, handOverHeld, crash + 2*time.Second + retry, back + retry},
	{"Lease deleted", (*world).deleteLease, deletedLease, crash, back},
	// Each shard moves once to a process of the one number or the other, and once between the numbers.
	{"another number of shards", (*world).reshard, resharded, 2 * planned, planned},
}
