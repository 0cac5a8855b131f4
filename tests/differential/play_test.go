package differential

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"glasswatch/tests/memserver"
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

// player plays one script to several informers on one server. It runs in a bubble.
type player struct {
	script  script
	server  *memserver.Server
	parts   []*part
	out     io.Writer // tells the history
	down    bool
	downAt  time.Time
	planned map[memserver.Verb]int
	refused bool               // a streaming list was, or will be
	stop    context.CancelFunc // not nil once started
	seats   map[string]*seat
}

// part is one informer and what it is told.
type part struct {
	name   string
	client *memserver.Client
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
func play(s script, facades []namedInformer, out io.Writer) string {
	opts := memserver.Options{
		NoCache: s.has("nocache"), NoStreaming: s.has("nostreaming"), ExpireByEvent: s.has("expire-by-event"),
	}
	if s.has("pages") {
		opts.PageSize = 2
	}
	if s.has("lag") && !s.has("streaming") {
		opts.Lag = 3
	}
	p := &player{script: s, server: memserver.New(opts), out: out, planned: map[memserver.Verb]int{}, seats: map[string]*seat{}}
	p.server.Hold()
	for _, f := range facades {
		c := p.server.Client(f.name)
		subject, err := newFacade(f.build, c, s)
		if err != nil {
			return err.Error()
		}
		p.join(f.name, c, subject)
	}
	c := p.server.Client("native")
	p.join("native", c, newNative(c, s))
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

func (p *player) join(name string, c *memserver.Client, s subject) {
	p.parts = append(p.parts, &part{name: name, client: c, subject: s, recorders: map[string]*recorder{}, places: map[string]registration{}})
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
				p.server.Put(op[1:])
			} else {
				p.server.Delete(op[1:])
			}
		}
	case "elsewhere":
		p.server.Elsewhere()
	case "bookmark":
		p.server.Bookmark()
	case "compact":
		p.server.Compact()
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
		p.server.EndWatches()
		return p.recover()
	case "down":
		if p.down {
			return ""
		}
		problem := p.prepareOutage()
		p.down, p.downAt = true, time.Now()
		p.server.EndWatches()
		return problem
	case "answer":
		if p.down && p.stop != nil && !p.script.has("streaming") && time.Since(p.downAt) < watchAge {
			if problem := p.waitForRequests(); problem != "" {
				return problem
			}
			p.answer()
			p.advance(time.Second) // a watch that ends now is no very short one
		}
	case "up":
		p.down = false
		return p.recover()
	case "fail":
		return p.fail(memserver.Verb(s[1]), memserver.Failure(s[2]))
	}
	return ""
}

// fail plans a failure, unless ours would answer it in another way: see the package's documentation.
func (p *player) fail(verb memserver.Verb, how memserver.Failure) string {
	if p.planned[verb] >= maxPlanned {
		return ""
	}
	unavailable := how == memserver.Expired || how == memserver.ExpiredLate || how == memserver.TooLarge
	switch verb {
	case memserver.List:
		if unavailable && p.script.has("pages") {
			return ""
		}
	case memserver.Stream:
		if how == memserver.Short && p.down && p.stop != nil {
			return "" // one that waits already is none that ends within a second
		}
		if p.script.has("nostreaming") || unavailable && (p.planned[verb] > 0 || p.parts[0].ReadUpTo() == "") {
			return ""
		}
	}
	if p.stop != nil && p.down {
		if problem := p.waitForRequests(); problem != "" {
			return problem
		}
		p.advance(2 * time.Second) // what waits has waited for long enough not to become a very short watch
	}
	p.planned[verb]++
	p.server.Fail(verb, how)
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
	opened, watching := p.parts[0].client.IsWatching()
	if !watching || p.nextResync() < time.Minute || time.Since(opened) < watchAge {
		return ""
	}
	p.server.EndWatches()
	return p.recover()
}

// nextResync is the time to the next moment at which any informer could resync.
func (p *player) nextResync() time.Duration {
	listed := p.parts[0].client.LastListed()
	if listed.IsZero() {
		return resyncPeriod
	}
	return halfPeriod - time.Since(listed)%halfPeriod
}

// prepareOutage sees to it that no resync falls into an outage, and that no watch is a very short one.
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
		// One at a time: with the per-key queue, what a watch brings could meet the initial list in the queue, or not.
		for n := 0; n < 20 && !p.all(func(part *part) bool { return !part.isWaiting() }); n++ {
			p.answer()
		}
		if round > 20 {
			return "no recovery: " + p.doings()
		}
	}
}

func (p *player) recovered(rounds int) string {
	p.server.Forgive()
	clear(p.planned)
	first := p.parts[0]
	for _, part := range p.parts[1:] {
		if !part.client.LastListed().Equal(first.client.LastListed()) {
			return fmt.Sprintf("%s listed %v after %s", part.name, part.client.LastListed().Sub(first.client.LastListed()), first.name)
		}
	}
	if rounds > 1 {
		return p.pass(2*time.Minute + 10*time.Second) // backoffs begin anew
	}
	return ""
}

// answer lets one request of each client pass.
func (p *player) answer() {
	p.server.Answer()
	synctest.Wait()
	p.server.Withdraw()
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
		since, waiting := part.client.IsWaiting()
		if waiting && p.script.has("streaming") && time.Since(since) > 25*time.Second {
			p.server.Forgive()
		}
	}
	return ""
}

func (p *part) isWaiting() bool {
	_, waiting := p.client.IsWaiting()
	return waiting
}

func (p *part) isWatching() bool {
	_, watching := p.client.IsWatching()
	return watching
}

func (p *player) all(what func(*part) bool) bool {
	return !slices.ContainsFunc(p.parts, func(part *part) bool { return !what(part) })
}

func (p *player) doings() string {
	var b strings.Builder
	for _, part := range p.parts {
		requests := part.client.Requests()
		fmt.Fprintf(&b, "\n%s: waits %v, watches %v, asked for\n\t%s", part.name, part.isWaiting(), part.isWatching(),
			strings.Join(requests[max(0, len(requests)-12):], "\n\t"))
	}
	return b.String()
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

// view is what is compared of a part, line by line.
func (p *player) view(part *part) []string {
	lines := []string{fmt.Sprintf("synced %v, read up to %q", part.HasSynced(), part.ReadUpTo())}
	if p.script.mode() == "inorder" {
		lines = append(lines, fmt.Sprintf("store at %q", part.StoreVersion()))
	}
	lines = append(lines, part.Store()...)
	for _, name := range handlers {
		r := part.recorders[name]
		if r == nil {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s synced %v", name, part.places[name].HasSynced()))
		for _, line := range r.report(p.seats[name].partial) {
			lines = append(lines, name+" "+line)
		}
	}
	return lines
}

func (p *player) compare() string {
	want := p.view(p.parts[0])
	for _, line := range want {
		p.tell("      %s", line)
	}
	for _, part := range p.parts[1:] {
		have := p.view(part)
		if slices.Equal(want, have) {
			continue
		}
		return fmt.Sprintf("%s and %s differ:\n%s", p.parts[0].name, part.name, difference(want, have))
	}
	return ""
}

func (p *player) compareWithServer() string {
	for _, key := range keys {
		obj := p.server.Objects()[key]
		for _, part := range p.parts {
			inStore := slices.ContainsFunc(part.Store(), func(line string) bool {
				return strings.TrimSuffix(line, "'") == key+": "+obj
			})
			if inStore != (obj != "") {
				return fmt.Sprintf("the server has %s at %q, %s has %v", key, obj, part.name, part.Store())
			}
		}
	}
	return ""
}

// difference lists the lines that only one side has.
func difference(want, have []string) string {
	var b strings.Builder
	for _, line := range want {
		if !slices.Contains(have, line) {
			fmt.Fprintf(&b, "\t- %s\n", line)
		}
	}
	for _, line := range have {
		if !slices.Contains(want, line) {
			fmt.Fprintf(&b, "\t+ %s\n", line)
		}
	}
	return b.String()
}
