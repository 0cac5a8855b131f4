package controllertest

import (
	"fmt"
	"strings"
	"time"
)

// What a program may do to one object within a minute. A queue with client-go's back-off tries again 14 times in its first minute.
const (
	triesAMinute  = 100 // writes that it tries
	inVainAMinute = 30  // writes that the server accepts, and that change nothing
)

// pace is how often one object is written within a minute. Its minute begins with the first write after the last one.
type pace struct {
	began               time.Time
	program, vain, them int
	told                bool // once is enough
}

// paceLocked is that of the object which a write is about.
func (w *world) paceLocked(req request) *pace {
	key := fmt.Sprint(req.resource, req.sub, " ", req.object)
	p := w.paces[key]
	if p == nil {
		p = &pace{began: time.Now()}
		w.paces[key] = p
	}
	if time.Since(p.began) >= time.Minute {
		*p = pace{began: time.Now(), told: p.told}
	}
	return p
}

// countTryLocked counts a write that somebody tries.
func (w *world) countTryLocked(req request) {
	p := w.paceLocked(req)
	if req.who == program {
		p.program++
	} else {
		p.them++
	}
	w.judgePaceLocked(req, p)
}

// countVainLocked counts a write of the program that changed nothing.
func (w *world) countVainLocked(req request) {
	p := w.paceLocked(req)
	p.vain++
	w.judgePaceLocked(req, p)
}

func (w *world) judgePaceLocked(req request, p *pace) {
	many := strings.Contains(req.object, "*") // objects of which the server made the names
	if p.told || many || p.program <= triesAMinute && p.vain <= inVainAMinute {
		return
	}
	p.told = true
	within := time.Since(p.began).Round(time.Millisecond)
	switch {
	case p.vain > inVainAMinute:
		w.foundAtLocked(req.object, Paces, "%d writes of %s%s %s within %v have changed nothing", p.vain, req.resource, req.sub, req.object, within)
	case p.them > triesAMinute/2:
		w.foundAtLocked(req.object, Paces, "the program has tried to write %s%s %s %d times within %v, and others %d times: two fight over it",
			req.resource, req.sub, req.object, p.program, within, p.them)
	default:
		w.foundAtLocked(req.object, Paces, "the program has tried to write %s%s %s %d times within %v", req.resource, req.sub, req.object, p.program, within)
	}
}
