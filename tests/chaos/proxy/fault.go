package proxy

import (
	"fmt"
	"time"
)

// Kind is a kind of fault.
type Kind uint8

const (
	// Drop breaks the connection of an unanswered request, or of a watch between two frames, with or without the end of
	// the body.
	Drop Kind = iota
	// HalfFrame tears the connection in the middle of an event or a list.
	HalfFrame
	// Garbage sends unreadable bytes instead of an event or a list, or before an event.
	Garbage
	// Oversize adds [Padding] bytes to an object, in an unknown field.
	Oversize
	// Slow pauses in the middle of a list, or of the next frames of a watch.
	Slow
	// Expired answers 410, or begins a watch with an ERROR event that says so.
	Expired
	// TooMany answers 429 with a Retry-After.
	TooMany
	// Internal, BadGateway and Unavailable answer 500, 502 and 503.
	Internal
	BadGateway
	Unavailable
	// Bookmarks sends a bookmark late, twice, or once more after newer ones.
	Bookmarks
	// NoInitialEnd swallows the bookmark that ends the initial events of a streaming list.
	NoInitialEnd
	// Duplicate sends an event twice, at once or after the next event of another object.
	Duplicate
	// Rewound is a watch from a version that a restored backup took back. It is not planned: see [Proxy.Restored].
	Rewound
	// Kinds is how many there are.
	Kinds
)

var kindNames = [Kinds]string{
	"dropped connection", "half frame", "garbage frame", "oversize object", "slow body", "410", "429 with Retry-After", "500",
	"502", "503", "reordered bookmark", "no initial-events-end", "duplicate event", "version of a lost time",
}

// String says what happens.
func (k Kind) String() string {
	if k < Kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Fault is one that is to happen.
type Fault struct {
	Kind Kind
	// Variant picks one of the shapes that a kind has; any number is one.
	Variant int
	// Pause is how long a Slow waits each time, and the delay that a TooMany asks for.
	Pause time.Duration
}

// opportunity is what a fault may hit.
type opportunity uint8

const (
	atRequest opportunity = iota
	atList
	atStream
	atObject     // a frame that is about an object
	atBookmark   // a periodic bookmark
	atInitialEnd // the bookmark that ends initial events
)

// fits reports whether f may hit o.
func (f Fault) fits(o opportunity) bool {
	switch f.Kind {
	case Expired, TooMany, Internal, BadGateway, Unavailable:
		return o == atRequest
	case Drop:
		return o == atRequest && f.Variant%3 == 0 || o == atObject && f.Variant%3 != 0
	case HalfFrame, Garbage:
		return o == atObject || o == atList
	case Oversize, Duplicate:
		return o == atObject
	case Slow:
		return o == atList || o == atStream
	case Bookmarks:
		return o == atBookmark || o == atInitialEnd
	case NoInitialEnd:
		return o == atInitialEnd
	}
	return false
}

// Plan lets faults happen, each once, at the first opportunity that fits it and that no earlier one takes.
func (p *Proxy) Plan(faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.planned = append(p.planned, faults...)
}

// Clear drops the planned faults, and ends all pauses.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.planned = nil
	close(p.calm)
	p.calm = make(chan struct{})
}

// Suspend holds all faults until it is called with false, and ends all pauses. Planned faults stay planned.
func (p *Proxy) Suspend(suspended bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.suspended = suspended
	close(p.calm)
	p.calm = make(chan struct{})
}

// take returns the first planned fault that fits, and takes it off the plan.
func (p *Proxy) take(o opportunity) (Fault, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.planned {
		if !p.suspended && f.fits(o) {
			p.planned = append(p.planned[:i:i], p.planned[i+1:]...)
			return f, true
		}
	}
	return Fault{}, false
}

func (p *Proxy) fired(k Kind) {
	if p.opts.Fired != nil {
		p.opts.Fired(k)
	}
}
