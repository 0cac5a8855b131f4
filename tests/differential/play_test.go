package differential

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// player plays one script to several informers on one server. It runs in a bubble.
type player struct {
	script  script
	server  *server
	parts   []*part
	out     io.Writer // tells the history
	down    bool
	downAt  time.Time
	planned map[string]int
	stop    context.CancelFunc // not nil once started
	seats   map[string]*seat
}

// part is one informer and the calls of its handlers.
type part struct {
	name string
	gate *gate
	subject
	recorders map[string]*recorder
	places    map[string]registration
	done      <-chan struct{}
}

// seat is a handler as the script knows it: it may be taken once.
type seat struct {
	taken, removed bool
	blocked        bool
	partial        bool // removed while it was blocked
}

// play plays s and returns the first difference, "" if there is none.
func play(t *testing.T, s script, facades []namedInformer, out io.Writer) string {
	p := &player{script: s, server: newServer(t), out: out, planned: map[string]int{}, seats: map[string]*seat{}}
	p.server.noCache, p.server.refuses = s.has("nocache"), s.has("refuses")
	p.server.Faults().RefuseStreamingLists(s.has("nostreaming"))
	if s.has("pages") {
		p.server.pageSize = 2
	}
	if s.has("lag") && !s.has("streaming") {
		p.server.lag = 3
	}
	p.server.hold(true)
	for _, f := range facades {
		g := p.server.gate()
		subject, err := newFacade(f.build, g, s)
		if err != nil {
			return err.Error()
		}
		p.join(f.name, g, subject)
	}
	g := p.server.gate()
	p.join("native", g, newNative(g, s))
	defer p.end()
	for n, step := range s.steps {
		problem := p.act(step)
		synctest.Wait()
		p.tell("%3d %s", n+1, strings.Join(step, " "))
		if problem == "" {
			problem = p.compare()
		}
		if problem != "" {
			return fmt.Sprintf("step %d, %s: %s", n+1, strings.Join(step, " "), problem)
		}
	}
	return p.finish()
}

func (p *player) join(name string, g *gate, s subject) {
	p.parts = append(p.parts, &part{name: name, gate: g, subject: s, recorders: map[string]*recorder{}, places: map[string]registration{}})
}

func (p *player) tell(format string, args ...any) {
	if p.out != nil {
		fmt.Fprintf(p.out, format+"\n", args...)
	}
}

// act does one step. A step that makes no sense does nothing.
func (p *player) act(s step) string {
	switch s[0] {
	case "write":
		for _, op := range s[1:] {
			if op[0] == '+' {
				p.server.put(op[1:])
			} else {
				p.server.remove(op[1:])
			}
		}
	case "elsewhere":
		p.server.elsewhere()
	case "bookmark":
		p.server.bookmark()
	case "compact":
		p.server.compact()
	case "break", "down", "answer", "up", "fail":
		return p.actOnServer(s)
	case "start":
		return p.start()
	case "pass":
		d, _ := time.ParseDuration(s[1])
		return p.pass(d)
	default:
		return p.actOnHandler(s)
	}
	return ""
}

func (p *player) actOnServer(s step) string {
	switch s[0] {
	case "break":
		if p.down || p.stop == nil {
			return ""
		}
		if problem := p.prepareOutage(); problem != "" {
			return problem
		}
		p.server.Faults().DropWatches()
		return p.recover()
	case "down":
		if p.down {
			return ""
		}
		problem := p.prepareOutage()
		p.down, p.downAt = true, time.Now()
		p.server.Faults().DropWatches()
		return problem
	case "answer":
		if p.down && p.stop != nil && !p.script.has("streaming") && time.Since(p.downAt) < watchAge {
			if problem := p.waitForRequests(); problem != "" {
				return problem
			}
			p.answer()
			p.advance(time.Second) // a watch that ends now is not a very short one
		}
	case "up":
		p.down = false
		return p.recover()
	case "fail":
		return p.fail(s[1], failure(s[2]))
	}
	return ""
}

func (p *player) actOnHandler(s step) string {
	verb, name := s[0], s[1]
	at := p.seats[name]
	if at == nil {
		at = &seat{}
		p.seats[name] = at
	}
	if verb == "add" && !at.taken {
		at.taken = true
		for _, part := range p.parts {
			r := newRecorder()
			place, err := part.Add(r, s[2])
			if err != nil {
				return fmt.Sprintf("%s: %v", part.name, err)
			}
			part.recorders[name], part.places[name] = r, place
		}
	}
	if !at.taken {
		return ""
	}
	switch verb {
	case "remove":
		at.partial = at.partial || at.blocked
		at.removed = true
		for _, part := range p.parts {
			if err := part.Remove(part.places[name]); err != nil {
				return fmt.Sprintf("%s: %v", part.name, err)
			}
		}
	case "block", "unblock":
		at.blocked = verb == "block"
		for _, part := range p.parts {
			part.recorders[name].block(at.blocked)
		}
	case "allow":
		n, _ := strconv.Atoi(s[2])
		for _, part := range p.parts {
			part.recorders[name].allow(n)
		}
	}
	return ""
}

func (p *player) start() string {
	if p.stop != nil {
		return ""
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	for _, part := range p.parts {
		part.done = part.Start(ctx)
	}
	return p.recover()
}

// finish unblocks and recovers, and compares with the server, too; then once more after the informers have stopped.
func (p *player) finish() string {
	for _, name := range handlers {
		p.act(step{"unblock", name})
	}
	problem := p.act(step{"up"})
	if problem == "" {
		problem = p.pass(time.Second)
	}
	synctest.Wait()
	p.tell("    end")
	if problem == "" {
		problem = p.compare()
	}
	if problem == "" && p.stop != nil {
		problem = p.compareWithServer()
	}
	if problem == "" {
		p.end()
		p.tell("    stopped")
		problem = p.compare()
	}
	if problem != "" {
		return "at the end: " + problem
	}
	return ""
}

// end stops the informers and waits for them.
func (p *player) end() {
	if p.stop == nil {
		return
	}
	for _, part := range p.parts {
		for _, r := range part.recorders {
			r.block(false)
		}
	}
	p.stop()
	for _, part := range p.parts {
		<-part.done
	}
	synctest.Wait()
}
