package lens

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens"
	"glasswatch/internal/lens/look"
	"glasswatch/tests/mutants"
)

const (
	replayPatience = 20 * time.Second
	// replayMutant lets a deletion that a list shows look like one that was seen.
	replayMutant = "sharedinformer/relist-deletion-without-its-mark"
)

// replayClient does what the page does, with the handler of a lens.
type replayClient struct {
	t       *testing.T
	lens    *lens.Lens
	handler http.Handler
}

func (c replayClient) ask(method, path, body string) string {
	c.t.Helper()
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	require.Equal(c.t, 200, w.Code, "%s %s: %s", method, path, w.Body)
	return w.Body.String()
}

func (c replayClient) act(name, body string) {
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
	World  int
}

// rests reports whether all that was stored has come through handlers and workqueue.
func (n now) rests() bool {
	q, queued := n.State.Workqueue, uint64(0)
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

// until asks for snapshots until one is as wanted.
func (c replayClient) until(is func(now) bool) now {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), replayPatience)
	defer cancel()
	for {
		var n now
		require.NoError(c.t, json.Unmarshal([]byte(c.ask("GET", "/api/snapshot", "")), &n))
		if is(n) {
			return n
		}
		require.NoError(c.t, ctx.Err(), "%+v", n)
	}
}

const applyWeb = `{"yaml": "{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]},` +
	` metadata: {name: web, annotations: {ingress/http: \"true\"}}}"}`

// tombstoneSession does in real time what ends with a tombstone, and returns the lens's client.
func tombstoneSession(t *testing.T) replayClient {
	t.Helper()
	l, err := lens.New(lens.Options{})
	require.NoError(t, err)
	t.Cleanup(l.Close)
	c := replayClient{t, l, l.Handler()}
	c.until(func(n now) bool { return n.State.Informers["ingresses"].Synced && n.Counts[look.Forgotten][""] == 1 })
	c.act("fault", `{"name": "fail", "on": true}`)
	c.act("apply", applyWeb)
	c.until(func(n now) bool { return n.State.Workqueue.Retries["default/web"] == 4 })
	c.act("fault", `{"name": "fail"}`)
	c.until(func(n now) bool { return n.State.Informers["ingresses"].Objects == 1 && n.rests() })
	c.act("fault", `{"name": "cut", "on": true}`)
	c.until(func(n now) bool { // or one of the two would come back before the other, which is not the same each time
		in := n.State.Informers
		return in["services"].State == "BackingOff" && in["ingresses"].State == "BackingOff"
	})
	c.act("delete", `{"kind": "Service", "key": "default/web"}`)
	c.act("fault", `{"name": "compact", "on": true}`)
	c.act("fault", `{"name": "cut"}`)
	c.until(func(n now) bool { return n.State.Informers["ingresses"].Objects == 0 && n.rests() })
	return c
}

func TestExport_IsATestThatAMutantTurnsRed(t *testing.T) {
	exported := tombstoneSession(t).ask("GET", "/api/session.go", "")
	require.Contains(t, exported, "tombstone")
	mutant := mutants.Mutant{}
	for _, m := range mutants.Read(t, "../mutants/testdata/sharedinformer.txt") {
		if m.Name == replayMutant {
			mutant = m
		}
	}
	bug, err := mutant.Apply()
	require.NoError(t, err)

	out, err := runExported(t, exported, "", "")
	require.NoError(t, err, out)
	require.Contains(t, out, "--- PASS: TestSession")
	out, err = runExported(t, exported, mutant.File, bug)
	require.Error(t, err, out)
	assert.Contains(t, out, "--- FAIL: TestSession")
}

// runExported runs an exported test in this package, with another text in the place of a file of the layers. Nothing is
// written beside the code: an overlay says where the files are.
func runExported(t *testing.T, exported, file, text string) (out string, err error) {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	put := func(at, text string) {
		path, err := filepath.Abs(filepath.Join("../..", at))
		require.NoError(t, err)
		replace[path] = filepath.Join(dir, strings.ReplaceAll(at, "/", "_"))
		require.NoError(t, os.WriteFile(replace[path], []byte(text), 0o600))
	}
	put("tests/lens/session_exported_test.go", exported)
	if file != "" {
		put(file, text)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlayFile := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))
	args := []string{"test", "-count=1", "-v", "-run", "^TestSession$", "-overlay", overlayFile, "."}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	output, err := cmd.CombinedOutput()
	return string(output), err
}

func TestSession_PlayedInRealTimeIsTheSameSession(t *testing.T) {
	c := tombstoneSession(t)
	session := c.ask("GET", "/api/session", "")
	before := c.until(func(now) bool { return true })
	c.act("replay", session)
	after := c.until(func(n now) bool {
		return n.Counts[look.Called]["Service"] == before.Counts[look.Called]["Service"] && n.rests()
	})
	assert.Equal(t, before.World+1, after.World)
	var was, is lens.Session
	require.NoError(t, json.Unmarshal([]byte(session), &was))
	require.NoError(t, json.Unmarshal([]byte(c.ask("GET", "/api/session", "")), &is))
	require.Len(t, is.Actions, len(was.Actions))
	for i, a := range is.Actions {
		assert.Equal(t, was.Actions[i].Act, a.Act)
		assert.JSONEq(t, string(was.Actions[i].Body), string(a.Body))
		for at, n := range was.Actions[i].After {
			assert.GreaterOrEqual(t, a.After[at], n, "action %d waits for what was observed", i)
		}
	}
}
