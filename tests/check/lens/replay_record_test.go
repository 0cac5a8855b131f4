package lens

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens"
	"glasswatch/internal/lens/beside"
	"glasswatch/internal/lens/look"
)

const (
	// askEvery is the time between two questions whether something is the case.
	askEvery = 40 * time.Millisecond
	// calm is long enough for a slow machine to see that nothing happens, and to do something. A key that fails again and again waits longer.
	calm = 4 * time.Second
)

// client does what the page does, with the handler of a lens.
type client struct {
	t       *testing.T
	lens    *lens.Lens
	handler http.Handler
}

func newClient(t *testing.T, l *lens.Lens) client { return client{t, l, l.Handler()} }

func (c client) ask(method, path, body string) string {
	c.t.Helper()
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	require.Equal(c.t, 200, w.Code, "%s %s: %s", method, path, w.Body)
	return w.Body.String()
}

func (c client) act(name, body string) {
	c.t.Helper()
	c.ask("POST", "/act/"+name, body)
}

// now is the part of a snapshot that the tests wait for.
type now struct {
	Seq    uint64
	Micros int64 `json:"us"`
	Counts look.Counts
	Gate   look.GateState
	State  look.ViewState
	Beside *beside.Counts
	World  int
}

// rests reports whether all that was stored has come through handlers and workqueue.
func (n now) rests() bool {
	q, queued := n.State.Workqueue, uint64(0)
	for kind, stored := range n.Counts[look.Stored] {
		if n.Counts[look.Called][kind] != 2*stored { // each is told to both handlers
			return false
		}
	}
	for _, in := range n.State.Informers {
		for _, h := range in.Handlers {
			if h.Name == "enqueue" {
				queued += h.Delivered
			}
			if h.Depth > 0 {
				return false
			}
		}
	}
	return maps.Equal(n.Counts[look.Called], n.Counts[look.Returned]) && n.Counts[look.Queued][""] == queued &&
		len(q.Ready)+len(q.Processing)+len(q.Dirty)+q.DelayedN == 0
}

// until asks for snapshots until two in a row are as wanted, with nothing in between: the state is newer than the events it comes with.
func (c client) until(is func(now) bool) now {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for last := uint64(0); ; {
		var n now
		require.NoError(c.t, json.Unmarshal([]byte(c.ask("GET", "/api/snapshot", "")), &n))
		wanted := is(n)
		if wanted && n.Seq == last {
			return n
		}
		last = 0
		if wanted {
			last = n.Seq
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			require.Fail(c.t, "waited in vain", "%+v", n)
		}
	}
}

const (
	applyWeb = `{"yaml": "{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]},` +
		` metadata: {name: web, annotations: {ingress/http: \"true\"}}}"}`
	applyWithout = `{"yaml": "{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}, metadata: {name: web}}"}`
)

// recording is a session of real time, as the page gets it, and what was observed in it.
type recording struct {
	session, exported string
	observed          lens.Observed
	last              now
}

// record does in real time what ends with a tombstone.
func record(t *testing.T, options lens.Options) recording {
	t.Helper()
	l, err := lens.New(options)
	require.NoError(t, err)
	defer l.Close()
	c := newClient(t, l)
	c.until(func(n now) bool { return n.State.Informers["ingresses"].Synced && n.Counts[look.Forgotten][""] > 0 })
	c.act("fault", `{"name": "fail", "on": true}`)
	c.act("apply", applyWeb)
	// Nothing else happens meanwhile, so that what is done next comes between the same two tries.
	c.until(func(n now) bool {
		delayed := n.State.Workqueue.Delayed
		return len(delayed) == 1 && delayed[0].Due-n.Micros > calm.Microseconds()
	})
	c.act("fault", `{"name": "fail"}`)
	c.until(func(n now) bool { return n.State.Informers["ingresses"].Objects == 1 && n.rests() })
	// There is no Ingress any more when both informers come back: which of them is first is not the same each time.
	c.act("apply", applyWithout)
	c.until(func(n now) bool { return n.State.Informers["ingresses"].Objects == 0 && n.rests() })
	c.act("fault", `{"name": "cut", "on": true}`)
	c.until(func(n now) bool {
		in := n.State.Informers
		return in["services"].State == "BackingOff" && in["ingresses"].State == "BackingOff"
	})
	c.act("delete", `{"kind": "Service", "key": "default/web"}`)
	c.act("fault", `{"name": "compact", "on": true}`)
	c.act("fault", `{"name": "cut"}`)
	r := recording{last: c.until(func(n now) bool {
		return n.State.Informers["services"].Objects == 1 && n.rests() && (n.Beside == nil || n.Beside.Quiet)
	})}
	r.session, r.exported = c.ask("GET", "/api/session", ""), c.ask("GET", "/api/session.go", "")
	r.observed, err = l.Observed()
	require.NoError(t, err)
	return r
}

// With client-go's informers beside ours, both must be told the same, also when the session is played.
func TestRecording_IsObservedTheSameWhenItIsPlayed(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]lens.Options{"alone": {}, "beside client-go": {Beside: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := record(t, options)
			require.Equal(t, options.Beside, r.last.Beside != nil)
			if options.Beside {
				assert.Zero(t, r.last.Beside.Differences)
			}
			s, err := lens.ReadSession([]byte(r.session))
			require.NoError(t, err)
			require.Equal(t, r.observed, replayed(t, s), "in virtual time")
			r.playsInRealTime(t)
		})
	}
}

func (r recording) playsInRealTime(t *testing.T) {
	t.Helper()
	l, err := lens.New(lens.Options{})
	require.NoError(t, err)
	defer l.Close()
	c := newClient(t, l)
	c.act("replay", r.session)
	after := c.until(func(n now) bool {
		return n.Counts[look.Called]["Service"] == r.last.Counts[look.Called]["Service"] && n.rests() &&
			(n.Beside == nil) == (r.last.Beside == nil) && (n.Beside == nil || n.Beside.Quiet)
	})
	assert.Equal(t, 2, after.World)
	if after.Beside != nil {
		assert.Zero(t, after.Beside.Differences)
		assert.Equal(t, r.last.Beside.Calls, after.Beside.Calls)
	}
	var was, is lens.Session
	require.NoError(t, json.Unmarshal([]byte(r.session), &was))
	require.NoError(t, json.Unmarshal([]byte(c.ask("GET", "/api/session", "")), &is))
	assert.Equal(t, was.Options, is.Options)
	require.Len(t, is.Actions, len(was.Actions))
	for i, a := range is.Actions {
		assert.Equal(t, was.Actions[i].Act, a.Act)
		assert.JSONEq(t, string(was.Actions[i].Body), string(a.Body))
		for at, n := range was.Actions[i].After {
			assert.GreaterOrEqual(t, a.After[at], n, "action %d waits for what was observed", i)
		}
	}
}
