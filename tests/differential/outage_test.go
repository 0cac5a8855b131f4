package differential

import (
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"
)

const (
	// watchAge is when the player ends watches: clients ask for at least five minutes. While the server is down nothing goes
	// on for longer than that, either.
	watchAge = 3 * time.Minute
	// outage is the time that an outage takes at most, the recovery included. No resync falls into it.
	outage = 25 * time.Minute
	// maxPlanned is the number of failures of one kind that are planned at once.
	maxPlanned = 2
)

// advance lets time go by, and nothing else.
func (p *player) advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// pass lets time go by, and the server end watches that are old.
func (p *player) pass(d time.Duration) string {
	const chunk = 30 * time.Second
	if p.down {
		// Not for so long that a watch which Answer permitted grows old.
		if d = min(d, watchAge-time.Since(p.downAt)); d > 0 {
			p.advance(d)
		}
		return ""
	}
	for ; d > 0; d -= chunk {
		p.advance(min(d, chunk))
		if problem := p.renewWatches(); problem != "" {
			return problem
		}
	}
	return ""
}

// renewWatches ends the watches before the clients do, unless a resync is near: the next watch may turn out to be a list.
func (p *player) renewWatches() string {
	opened, watching := p.parts[0].gate.isWatching()
	if !watching || p.nextResync() < time.Minute || time.Since(opened) < watchAge {
		return ""
	}
	p.server.Faults().DropWatches()
	return p.recover()
}

// nextResync is the time to the next moment at which any informer could resync.
func (p *player) nextResync() time.Duration {
	listed := p.parts[0].gate.lastListed()
	if listed.IsZero() {
		return resyncPeriod
	}
	return halfPeriod - time.Since(listed)%halfPeriod
}

// prepareOutage makes sure that no resync falls into an outage, and that no watch is a very short one.
func (p *player) prepareOutage() string {
	if p.stop == nil {
		return ""
	}
	p.advance(2 * time.Second)
	if p.nextResync() > outage {
		return ""
	}
	return p.pass(p.nextResync().Truncate(time.Second) + time.Minute)
}

// recover lets requests pass, at the same moment for all, until all watch.
func (p *player) recover() string {
	if p.stop == nil || p.down {
		return ""
	}
	for round := 0; ; round++ {
		if problem := p.waitForRequests(); problem != "" {
			return problem
		}
		if p.all((*part).isWatching) {
			return p.recovered(round)
		}
		// One at a time, for with the per-key queue an event of the watch may or may not join the initial list in the
		// queue.
		for n := 0; n < 20 && !p.all(func(part *part) bool { return !part.isWaiting() }); n++ {
			p.answer()
		}
		if round > 20 {
			return "no recovery: " + p.doings()
		}
	}
}

func (p *player) recovered(rounds int) string {
	p.server.forgive()
	clear(p.planned)
	first := p.parts[0]
	for _, part := range p.parts[1:] {
		if !part.gate.lastListed().Equal(first.gate.lastListed()) {
			return fmt.Sprintf("%s listed %v after %s", part.name, part.gate.lastListed().Sub(first.gate.lastListed()), first.name)
		}
	}
	if rounds > 1 {
		return p.pass(2*time.Minute + 10*time.Second) // backoffs begin anew
	}
	return ""
}

// answer lets one request of each client pass.
func (p *player) answer() {
	p.server.permit(1)
	synctest.Wait()
	p.server.permit(0)
}

// waitForRequests waits until every client has a request at the gate, or a watch.
func (p *player) waitForRequests() string {
	for waited := 0; ; waited++ {
		synctest.Wait()
		if p.all(func(part *part) bool { return part.isWaiting() || part.isWatching() }) {
			break
		}
		if waited > 100 {
			return "neither asks nor watches: " + p.doings()
		}
		p.advance(time.Second)
	}
	for _, part := range p.parts {
		since, waiting := part.gate.isWaiting()
		if waiting && p.script.has("streaming") && time.Since(since) > 25*time.Second {
			p.server.forgive()
		}
	}
	return ""
}

func (p *part) isWaiting() bool {
	_, waiting := p.gate.isWaiting()
	return waiting
}

func (p *part) isWatching() bool {
	_, watching := p.gate.isWatching()
	return watching
}

func (p *player) all(what func(*part) bool) bool {
	return !slices.ContainsFunc(p.parts, func(part *part) bool { return !what(part) })
}

func (p *player) doings() string {
	var b strings.Builder
	for _, part := range p.parts {
		requests := part.gate.asked()
		fmt.Fprintf(&b, "\n%s: waits %v, watches %v, asked for\n\t%s", part.name, part.isWaiting(), part.isWatching(),
			strings.Join(requests[max(0, len(requests)-12):], "\n\t"))
	}
	return b.String()
}

// fail plans a failure, unless ours would answer it in another way: see the package's documentation.
func (p *player) fail(verb string, how failure) string {
	if p.planned[verb] >= maxPlanned {
		return ""
	}
	unavailable := how == "410" || how == expiredLate || how == tooLarge
	switch verb {
	case list:
		if unavailable && p.script.has("pages") {
			return ""
		}
	case stream:
		if how == short && p.down && p.stop != nil {
			return "" // a watch that waits already does not end within a second
		}
		if p.script.has("nostreaming") || unavailable && (p.planned[verb] > 0 || p.parts[0].ReadUpTo() == "") {
			return ""
		}
	}
	if p.stop != nil && p.down {
		if problem := p.waitForRequests(); problem != "" {
			return problem
		}
		p.advance(2 * time.Second) // a waiting request has waited too long for a very short watch
	}
	p.planned[verb]++
	p.server.fail(verb, how)
	return ""
}
