package lens

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"glasswatch/internal/lens/beside"
	"glasswatch/internal/lens/look"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())  // failures are on purpose here
	utilruntime.ReallyCrash = false // so are panics of handlers
	utilruntime.ErrorHandlers = nil // client-go's wait a time that began outside of a bubble
	code := m.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

const testToken = "a-token-for-tests"

// visitor is an HTTP client of a lens of its own, on a socket.
type visitor struct {
	t    *testing.T
	lens *Lens
	url  string
	ctx  context.Context
}

// patience bounds the wait for what must happen: long enough for any machine.
const patience = 5 * time.Minute

func visit(t *testing.T, options Options) *visitor {
	t.Helper()
	l, err := New(options)
	require.NoError(t, err)
	t.Cleanup(l.Close) // after the requests have ended
	v := visitHandler(t, l.Handler())
	v.lens = l
	return v
}

// visitHandler is visit for a handler.
func visitHandler(t *testing.T, handler http.Handler) *visitor {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	server := &http.Server{Handler: &look.Guard{Token: testToken, Address: listener.Addr(), Next: handler}}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() {
		cancel()
		_ = server.Close()
		<-done
		http.DefaultClient.CloseIdleConnections()
	})
	return &visitor{t, nil, "http://" + listener.Addr().String(), ctx}
}

func (v *visitor) request(method, path, body string) *http.Response {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.ctx, method, v.url+path, strings.NewReader(body))
	require.NoError(v.t, err)
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(v.t, err)
	return answer
}

// ask reads JSON, and returns the status.
func (v *visitor) ask(method, path, body string, into any) int {
	v.t.Helper()
	answer := v.request(method, path, body)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(v.t, err)
	if into != nil {
		require.NoError(v.t, json.Unmarshal(text, into), "%s", text)
	}
	return answer.StatusCode
}

// act does what must succeed.
func (v *visitor) act(name, body string) {
	v.t.Helper()
	answer := map[string]any{}
	require.Equal(v.t, 200, v.ask("POST", "/act/"+name, body, &answer), "%s: %v", name, answer)
}

// apply creates or changes a Service that wants an Ingress.
func (v *visitor) apply(name string, port int) (rv string) {
	v.t.Helper()
	const service = `{apiVersion: v1, kind: Service, 
 metadata: {name: %s, namespace: default, annotations: {ingress/http: "true"}}, spec: {ports: [{port: %d}]}}`
	body, err := json.Marshal(map[string]string{"yaml": fmt.Sprintf(service, name, port)})
	require.NoError(v.t, err)
	var answer struct{ Applied []look.Ref }
	require.Equal(v.t, 200, v.ask("POST", "/act/apply", string(body), &answer))
	return answer.Applied[0].RV
}

func (v *visitor) journey(key string) []look.Event {
	v.t.Helper()
	var answer struct{ Events []look.Event }
	require.Equal(v.t, 200, v.ask("GET", "/api/journey?key="+key, "", &answer))
	return answer.Events
}

// message is a snapshot or a tick, with what only a world in this process has.
type message struct {
	look.Snapshot
	Options Options        `json:"options"`
	Beside  *beside.Counts `json:"beside"`
}

// follower reads a stream.
type follower struct {
	t       *testing.T
	scanner *bufio.Scanner
	now     message // what came last
	seen    []look.Event
	leftOut uint64
	kinds   []string // of messages
}

func (v *visitor) follow(query string) *follower {
	v.t.Helper()
	answer := v.request("GET", "/stream"+query, "")
	require.Equal(v.t, 200, answer.StatusCode)
	v.t.Cleanup(func() { _ = answer.Body.Close() })
	f := &follower{t: v.t, scanner: bufio.NewScanner(answer.Body)}
	f.scanner.Buffer(nil, 64<<20)
	f.next()
	return f
}

// next reads one message.
func (f *follower) next() {
	f.t.Helper()
	for f.scanner.Scan() {
		if kind, ok := bytes.CutPrefix(f.scanner.Bytes(), []byte("event: ")); ok {
			f.kinds = append(f.kinds, string(kind))
		}
		if text, ok := bytes.CutPrefix(f.scanner.Bytes(), []byte("data: ")); ok {
			f.now = message{}
			require.NoError(f.t, json.Unmarshal(text, &f.now))
			f.seen = append(f.seen, f.now.Events...)
			f.leftOut += f.now.LeftOut
			return
		}
	}
	f.t.Fatalf("the stream ended: %v; last came %+v", f.scanner.Err(), f.now.State)
}

// until reads on until something is the case.
func (f *follower) until(is func() bool) {
	f.t.Helper()
	for !is() {
		f.next()
	}
}

// sees reads on until such an event came, and returns it.
func (f *follower) sees(at look.Boundary, action, key string) (found look.Event) {
	f.t.Helper()
	f.until(func() bool {
		for _, e := range f.seen {
			if e.At == at && e.Action == action && (key == "" || e.Key == key) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// synced reads on until both informers have synced and all that was queued is done.
func (f *follower) synced() {
	f.t.Helper()
	f.until(func() bool {
		for _, in := range f.now.State.Informers {
			if !in.Synced {
				return false
			}
		}
		return f.now.Counts[look.Forgotten][""] > 0
	})
}
