package lens

import (
	"bytes"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens"
	"glasswatch/internal/lens/look"
)

var serveFile = flag.String("lens.serve", "", "serve a session in virtual time, until it is interrupted")

// piece of virtual time.
const piece = 20 * time.Millisecond

// bubble lets what is outside of a testing/synctest bubble ask a lens inside of it. A goroutine in the bubble that waits
// for these channels, which are made outside, keeps virtual time from passing: it passes in pieces, when the outside
// says so.
type bubble struct {
	lens  *lens.Lens
	next  http.Handler
	jobs  chan func()   // to be done inside, each in a goroutine of its own
	pace  chan struct{} // a piece of time may pass
	paces atomic.Int64  // how often that was so
}

// live does inside what is handed in, until end is closed. Call it in the bubble; end must be made outside.
func (b *bubble) live(end <-chan struct{}) {
	for {
		select {
		case job := <-b.jobs:
			go job()
		case <-b.pace:
			b.passPiece()
			b.paces.Add(1)
		case <-end:
			return
		}
	}
}

// passPiece lets a piece of time pass, or what there is of it until something is parked.
func (b *bubble) passPiece() {
	for ended := time.After(piece); ; {
		changed := b.lens.Hub().Changes()
		if len(b.lens.Hub().Parked()) > 0 {
			return
		}
		select {
		case <-ended:
			return
		case <-changed:
		}
	}
}

// pass lets virtual time pass as fast as real time, until end is closed. Call it outside.
func (b *bubble) pass(end <-chan struct{}) {
	ticker := time.NewTicker(piece)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-end:
			return
		}
		select {
		case b.pace <- struct{}{}:
		case <-end:
			return
		}
	}
}

// ServeHTTP has the lens answer inside. The body is read outside, where net/http goes on to read from the connection.
func (b *bubble) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	begun, ended := make(chan context.CancelFunc, 1), make(chan struct{})
	b.jobs <- func() {
		defer close(ended)
		ctx, cancel := context.WithCancel(context.Background()) // the request's own was made outside
		defer cancel()
		begun <- cancel
		inside := r.Clone(ctx)
		inside.Body = io.NopCloser(bytes.NewReader(body))
		b.next.ServeHTTP(w, inside)
	}
	cancel := <-begun
	select {
	case <-ended:
	case <-r.Context().Done():
		b.jobs <- cancel
		<-ended
	}
}

// inBubble plays a session in virtual time, and lets use look at it from outside of the bubble.
func inBubble(t *testing.T, s lens.Session, use func(b *bubble)) {
	t.Helper()
	b := &bubble{jobs: make(chan func()), pace: make(chan struct{})}
	begun, end, looked := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		defer close(end)
		if <-begun; b.lens == nil {
			return
		}
		passing, stopPassing := make(chan struct{}), make(chan struct{})
		go func() { defer close(passing); b.pass(stopPassing) }()
		defer func() { close(stopPassing); <-passing }()
		use(b)
	}()
	synctest.Test(t, func(t *testing.T) {
		defer b.live(end)
		defer close(begun)
		l, err := lens.Play(s, true)
		require.NoError(t, err)
		b.lens, b.next = l, l.Handler()
		t.Cleanup(l.Close)
	})
	<-looked
}

func TestServe_ASessionInVirtualTime(t *testing.T) {
	if *serveFile == "" {
		t.Skip("serves a page until it is interrupted: go test -C tests/check ./lens -timeout 0 -v -lens.serve FILE")
	}
	text, err := os.ReadFile(*serveFile)
	require.NoError(t, err)
	s, err := lens.ReadSession(text)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	inBubble(t, s, func(b *bubble) {
		guard := &look.Guard{Token: rand.Text(), Address: listener.Addr(), Next: b}
		server := &http.Server{Handler: guard, BaseContext: func(net.Listener) context.Context { return ctx }}
		fmt.Printf("Open http://%s/?token=%s\n", listener.Addr(), guard.Token)
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		_ = server.Serve(listener)
	})
}

func TestServe_ThePageStandsOutsideOfTheBubble(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{"inorder", "perkey"} {
		t.Run(queue, func(t *testing.T) {
			t.Parallel()
			s := lens.Session{Options: lens.Options{Queue: queue}}
			s.Actions = []lens.Action{{Act: "apply", Body: []byte(applyWeb)}}
			inBubble(t, s, func(b *bubble) { isSteppedFromOutside(client{t, b.lens, b}, b) })
		})
	}
}

func isSteppedFromOutside(c client, b *bubble) {
	c.t.Helper()
	c.until(func(n now) bool { return n.State.Informers["ingresses"].Objects == 1 && n.rests() })
	c.act("breakpoint", `{"at": "stored", "key": "default/web", "kind": "Service"}`)
	c.act("delete", `{"kind": "Service", "key": "default/web"}`)
	parked := c.until(func(n now) bool { return n.Gate.Hit != nil })
	paces := b.paces.Load()
	still := c.until(func(now) bool { return b.paces.Load() > paces+3 })
	assert.InDelta(c.t, parked.Micros, still.Micros, 20_000, "time stands still while something is parked")
	c.act("fault", `{"name": "fail", "on": true}`) // acts are done meanwhile
	c.act("fault", `{"name": "fail"}`)
	c.act("clear", `{}`)
	c.act("run", `{}`)
	c.until(func(n now) bool { return n.State.Informers["ingresses"].Objects == 0 && n.rests() })
	c.act("reset", `{}`)
	c.until(func(n now) bool { return n.World == 2 && n.State.Informers["services"].Objects == 1 })
}
