package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Options of a Proxy.
type Options struct {
	// Target is where requests go to; its path is ignored. Upstream takes them there.
	Target   *url.URL
	Upstream http.RoundTripper
	// Fired is called for each fault when it happens, from any goroutine. It may be nil and must not block.
	Fired func(Kind)
	// Trace is called for each request with its answer, for people. It may be nil.
	Trace func(line string)
	// Version returns the server's resourceVersion, for the sign after a restore. nil: there is none.
	Version func() int64
}

// Proxy is an http.Handler. Its methods may be called from any goroutine.
type Proxy struct {
	opts Options

	mu        sync.Mutex // protects what follows
	planned   []Fault
	suspended bool
	calm      chan struct{} // closed and replaced by Clear and Suspend
	exchanges map[*exchange]struct{}
	// garbled: no object has come through since the last garbage.
	garbled bool

	// restored: the server was set back at least once. relisted: and was listed since.
	restored, relisted bool
	tokens             map[string]bool // that were given out since then
	rewinds            int             // the sign for the next rewound watch
}

// New returns a proxy without faults.
func New(opts Options) *Proxy {
	return &Proxy{opts: opts, calm: make(chan struct{}), exchanges: map[*exchange]struct{}{}}
}

// exchange is one request and its answer.
type exchange struct {
	proxy *Proxy
	w     http.ResponseWriter
	r     *http.Request
	query url.Values
	ctx   context.Context // ends with the client, or when the exchange is cut
	cut   context.CancelCauseFunc
	calm  <-chan struct{} // closed by Clear and Suspend
}

var (
	errCleanEnd = errors.New("ended between two frames")
	errTorn     = errors.New("torn")
)

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{proxy: p, w: w, r: r, query: r.URL.Query()}
	x.ctx, x.cut = context.WithCancelCause(r.Context())
	defer x.cut(nil)
	p.enter(x)
	defer p.leave(x)
	if f, ok := p.take(atRequest); ok {
		x.trace("%s", f.Kind)
		x.refuse(f)
		return
	}
	if x.isOfALostTime() {
		x.trace("is of a lost time")
		x.rewind()
		return
	}
	resp, err := p.opts.Upstream.RoundTrip(x.outgoing())
	if err != nil {
		x.trace("%v", err)
		panic(http.ErrAbortHandler)
	}
	x.trace("%s", resp.Status)
	defer resp.Body.Close()
	for _, name := range []string{"Content-Type", "Retry-After", "Warning"} {
		w.Header()[name] = resp.Header.Values(name)
	}
	if resp.StatusCode == http.StatusOK && x.isWatch() {
		x.relayStream(resp)
		return
	}
	x.relayBody(resp)
}

func (x *exchange) trace(format string, args ...any) {
	if x.proxy.opts.Trace != nil {
		x.proxy.opts.Trace(x.r.URL.RawQuery + ": " + fmt.Sprintf(format, args...))
	}
}

func (p *Proxy) enter(x *exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exchanges[x] = struct{}{}
	x.calm = p.calm
}

func (p *Proxy) leave(x *exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.exchanges, x)
}

// Cut ends all running exchanges: watches cleanly, or all with their connections. It returns their number.
func (p *Proxy) Cut(clean bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for x := range p.exchanges {
		how := errTorn
		if clean && x.isWatch() {
			how = errCleanEnd
		}
		x.cut(how)
		n++
	}
	return n
}

// Restored notes that the server was set back. All connections break, for a restore takes a restart. Older pages
// expire. Until the next list, watches from a version get the sign that their version is lost.
func (p *Proxy) Restored() {
	p.mu.Lock()
	p.restored, p.relisted, p.tokens = true, false, map[string]bool{}
	p.mu.Unlock()
	p.Cut(false)
}

func (x *exchange) isWatch() bool {
	on, _ := strconv.ParseBool(x.query.Get("watch"))
	return on
}

func (x *exchange) isOfALostTime() bool {
	p := x.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.restored {
		return false
	}
	if token := x.query.Get("continue"); token != "" {
		return !p.tokens[token]
	}
	version := x.query.Get("resourceVersion")
	return !p.relisted && x.isWatch() && x.query.Get("sendInitialEvents") != "true" && version != "" && version != "0"
}

// listed notes that the client got a whole list, or a page and the token of the next.
func (x *exchange) listed(token string) {
	p := x.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case context.Cause(x.ctx) != nil: // perhaps of before the restore
	case token != "" && p.restored:
		p.tokens[token] = true
	case token == "":
		p.relisted = true
	}
}

// outgoing is the request for the server.
func (x *exchange) outgoing() *http.Request {
	out := x.r.Clone(x.ctx)
	out.RequestURI = ""
	out.Host = ""
	out.URL.Scheme, out.URL.Host = x.proxy.opts.Target.Scheme, x.proxy.opts.Target.Host
	out.Header.Set("Accept-Encoding", "identity") // frames cannot be told apart otherwise
	return out
}

// pause waits, unless the exchange ends or faults are over.
func (x *exchange) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.calm:
	case <-x.ctx.Done():
		x.tear()
	}
}

// tear ends the connection.
func (x *exchange) tear() { panic(http.ErrAbortHandler) }

// write sends bytes at once.
func (x *exchange) write(b []byte) {
	if _, err := x.w.Write(b); err != nil || http.NewResponseController(x.w).Flush() != nil {
		x.tear()
	}
}
