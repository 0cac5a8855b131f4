package lens

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
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

// live does inside what is handed in, until end is closed. Call it in the bubble; end must be made outside.
func live(b *look.Bubble, end <-chan struct{}) {
	for {
		select {
		case job := <-b.Jobs:
			go job()
		case <-b.Pace:
			time.Sleep(piece)
		case <-end:
			return
		}
	}
}

// pass lets virtual time pass as fast as real time, until end is closed. Call it outside.
func pass(b *look.Bubble, end <-chan struct{}) {
	ticker := time.NewTicker(piece)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-end:
			return
		}
		select {
		case b.Pace <- struct{}{}:
		case <-end:
			return
		}
	}
}

// inBubble plays a session in virtual time, and lets use look at it from outside of the bubble.
func inBubble(t *testing.T, s lens.Session, use func(l *lens.Lens)) {
	t.Helper()
	bubble := &look.Bubble{Jobs: make(chan func()), Pace: make(chan struct{})}
	end, looked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		defer close(end)
		passing, stopPassing := make(chan struct{}), make(chan struct{})
		go func() { defer close(passing); pass(bubble, stopPassing) }()
		defer func() { close(stopPassing); <-passing }()
		l, err := lens.NewIn(bubble, s)
		if assert.NoError(t, err) {
			defer l.Close()
			use(l)
		}
	}()
	synctest.Test(t, func(*testing.T) { live(bubble, end) })
	<-looked
}

func TestServe_ASessionInVirtualTime(t *testing.T) {
	if *serveFile == "" {
		t.Skip("serves a page until it is interrupted: go test ./tests/lens -timeout 0 -v -lens.serve FILE")
	}
	text, err := os.ReadFile(*serveFile)
	require.NoError(t, err)
	s, err := lens.ReadSession(text)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	inBubble(t, s, func(l *lens.Lens) {
		guard := &look.Guard{Token: look.NewToken(), Address: listener.Addr(), Next: l.Handler()}
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
			inBubble(t, s, func(l *lens.Lens) { isSteppedFromOutside(newClient(t, l)) })
		})
	}
}

func isSteppedFromOutside(c client) {
	c.t.Helper()
	c.until(func(n now) bool { return n.State.Informers["ingresses"].Objects == 1 && n.rests() })
	c.act("breakpoint", `{"at": "stored", "key": "default/web", "kind": "Service"}`)
	c.act("delete", `{"kind": "Service", "key": "default/web"}`)
	parked := c.until(func(n now) bool { return n.Gate.Hit != nil })
	still := c.until(func(now) bool { return true })
	assert.InDelta(c.t, parked.Micros, still.Micros, 20_000, "time stands still while something is parked")
	c.act("fault", `{"name": "fail", "on": true}`) // acts are done meanwhile
	c.act("fault", `{"name": "fail"}`)
	c.act("clear", `{}`)
	c.act("run", `{}`)
	c.until(func(n now) bool { return n.State.Informers["ingresses"].Objects == 0 && n.rests() })
	c.act("reset", `{}`)
	c.until(func(n now) bool { return n.World == 2 && n.State.Informers["services"].Objects == 1 })
}
