package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/apiserver"
)

// alteration is one fault of a server, and the checks that have to notice it.
type alteration struct {
	name string
	// request and response may be nil. line gets each line of a JSON body, which is the whole body or one event.
	request  func(*http.Request)
	response func(*http.Response)
	line     func(object map[string]any) (keep bool)
	red      []string
}

// alterations are faults that clients would notice. The rest of the server stays right, so that each check fails for
// one reason.
var alterations = []alteration{
	{name: "errors have no details", line: onStatus(func(s map[string]any) { delete(s, "details") }),
		red: []string{"create/a taken name is 409 AlreadyExists", "paths/an unknown object is 404 with its name"}},
	{name: "errors have no causes", line: onStatus(func(s map[string]any) { delete(inside(s, "details"), "causes") }),
		red: []string{"list/a version in the future is 504 with the cause ResourceVersionTooLarge", "apply/a field of another manager is a conflict with its cause"}},
	{name: "errors have no reason", line: onStatus(func(s map[string]any) { delete(s, "reason") }),
		red: []string{"update/an update with an old version is 409 Conflict", "namespaces/nothing is created in a terminating namespace"}},
	{name: "410 is 500", response: func(r *http.Response) {
		if r.StatusCode == http.StatusGone {
			r.StatusCode = http.StatusInternalServerError
		}
	}, red: []string{"pages/an expired token is 410 with a token that goes on", "pages/an exact list of an expired version is 410"}},
	{name: "504 has no Retry-After", response: func(r *http.Response) { r.Header.Del("Retry-After") },
		red: []string{"list/a version in the future is 504 with the cause ResourceVersionTooLarge"}},
	{name: "warnings are lost", response: func(r *http.Response) { r.Header.Del("Warning") },
		red: []string{"field validation/Warn takes them with warnings, and is the default", "definitions/unknown fields of objects are pruned, with a warning"}},
	{name: "watches say they are not", response: func(r *http.Response) { r.Header.Set("Content-Type", "text/plain") },
		red: []string{"watch events/in JSON a watch is a line for each event", "formats/JSON is the default"}},
	{name: "initial events do not end", line: onEvent("BOOKMARK", func(o map[string]any) { delete(inside(o, "metadata"), "annotations") }),
		red: []string{"watch starts/a streaming list ends its list with a bookmark that says so", "watch starts/a streaming list of nothing is the bookmark only"}},
	{name: "no bookmarks", line: dropEvent("BOOKMARK"),
		red: []string{"watch starts/a bookmark comes before the timeout"}},
	{name: "no errors in watches", line: dropEvent("ERROR"),
		red: []string{"watch starts/a version before the history is 410 as an ERROR in a watch that began"}},
	{name: "a deletion is a change", line: func(o map[string]any) bool {
		if o["type"] == "DELETED" {
			o["type"] = "MODIFIED"
		}
		return true
	}, red: []string{"watch events/a deletion has the last state with a new version", "watch events/to enter a label selector is ADDED, to leave it DELETED"}},
	{name: "a deletion has the old version", line: onEvent("DELETED", func(o map[string]any) { inside(o, "metadata")["resourceVersion"] = "2" }),
		red: []string{"watch events/a deletion has the last state with a new version", "watch events/to enter a label selector is ADDED, to leave it DELETED"}},
	{name: "lists have no version", line: onList(func(l map[string]any) { delete(inside(l, "metadata"), "resourceVersion") }),
		red: []string{"list/a list bears kind, apiVersion and a version, its items do not", "list/an exact version shows the past"}},
	{name: "lists are not sorted", line: onList(func(l map[string]any) { slices.Reverse(l["items"].([]any)) }),
		red: []string{"list/the items are sorted by namespace and name", "pages/pages are parts of one list"}},
	{name: "pages do not count", line: onList(func(l map[string]any) { delete(inside(l, "metadata"), "remainingItemCount") }),
		red: []string{"pages/a page counts what remains"}},
	{name: "nobody manages fields", line: func(o map[string]any) bool { delete(inside(o, "metadata"), "managedFields"); return true },
		red: []string{"apply/managedFields tell manager, operation and fields"}},
	{name: "limits are ignored", request: without("limit"), red: []string{"pages/pages are parts of one list", "formats/Tables come in pages"}},
	{name: "selectors are ignored", request: without("labelSelector"), red: []string{"selectors/label selectors know equality, sets and presence"}},
	{name: "shard selectors are ignored", request: without("shardSelector"), red: []string{
		"shards/a list has the objects of its shard and says so", "shards/a watch has the events of its shard",
		"shards/a streaming list is of the shard, and only its bookmark is sure",
	}},
	{name: "lists do not say their shard", line: onList(func(l map[string]any) { delete(inside(l, "metadata"), "shardInfo") }),
		red: []string{"shards/a list has the objects of its shard and says so"}},
	{name: "dry runs are real", request: without("dryRun"), red: []string{"create/a dry run creates nothing, but names and defaults", "watch events/a dry run is no event"}},
	{name: "conflicts are forced", request: func(r *http.Request) {
		if r.Method == http.MethodPatch && r.URL.Query().Has("fieldManager") {
			r.URL.RawQuery += "&force=true"
		}
	}, red: []string{"apply/a field of another manager is a conflict with its cause"}},
	{name: "preconditions are ignored", request: func(r *http.Request) {
		if r.Method == http.MethodDelete {
			r.Body, r.ContentLength = http.NoBody, 0
		}
	}, red: []string{"delete/a precondition on the uid", "delete/a precondition on the version"}},
}

func TestWire_FindsAlteredServers(t *testing.T) {
	x := inProcess(t, apiserver.Options{})
	checks := map[string]check{}
	for _, c := range table() {
		checks[c.group+"/"+c.name] = c
	}
	through := func(a alteration) *target {
		client := &http.Client{Transport: alteredTransport{x.client.Transport, a}}
		return &target{config: x.config, client: client, shards: x.shards}
	}
	for _, a := range alterations {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			require.NotEmpty(t, a.red)
			for _, name := range a.red {
				require.Contains(t, checks, name)
				require.True(t, fails(checks[name], through(a)), "%q does not notice", name)
				require.False(t, fails(checks[name], through(a.harmless())), "%q fails for the way in which the server is altered", name)
			}
		})
	}
}

// harmless goes the same way and changes nothing.
func (a alteration) harmless() alteration {
	if a.request != nil {
		a.request = without("none")
	}
	if a.response != nil {
		a.response = func(*http.Response) {}
	}
	if a.line != nil {
		a.line = func(map[string]any) bool { return true }
	}
	return a
}

// recorder is a T that keeps its failure to itself.
type recorder struct {
	mu       sync.Mutex // protects what follows
	failed   bool
	cleanups []func()
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(string, ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) FailNow() {
	r.Errorf("")
	runtime.Goexit()
}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

// fails runs a check and tells whether it failed.
func fails(c check, x *target) bool {
	r := &recorder{}
	inGoroutine := func(f func()) { // which FailNow may end
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
	}
	inGoroutine(func() { c.run(r, x.serve(r)) })
	for _, f := range slices.Backward(r.cleanups) {
		inGoroutine(f)
	}
	return r.failed
}

type alteredTransport struct {
	http.RoundTripper
	alteration
}

func (a alteredTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if a.request != nil {
		req = req.Clone(req.Context())
		a.request(req)
	}
	resp, err := a.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if a.response != nil {
		a.response(resp)
	}
	if a.line != nil {
		resp.Body = &lines{Closer: resp.Body, from: bufio.NewReader(resp.Body), alter: a.line}
		resp.ContentLength = -1
	}
	return resp, nil
}

// lines is a body whose lines are altered as they come.
type lines struct {
	io.Closer
	from  *bufio.Reader
	alter func(map[string]any) bool
	ready bytes.Buffer
}

func (l *lines) Read(p []byte) (int, error) {
	for l.ready.Len() == 0 {
		line, err := l.from.ReadBytes('\n')
		object := map[string]any{}
		if json.Unmarshal(line, &object) != nil {
			l.ready.Write(line)
		} else if l.alter(object) {
			out, err := json.Marshal(object)
			if err != nil {
				return 0, err
			}
			l.ready.Write(append(out, '\n'))
		}
		if err != nil && l.ready.Len() == 0 {
			return 0, err
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
	}
	return l.ready.Read(p)
}

// inside is an object within an object, empty if there is none.
func inside(o map[string]any, key string) map[string]any {
	in, _ := o[key].(map[string]any)
	if in == nil {
		return map[string]any{}
	}
	return in
}

func onStatus(f func(map[string]any)) func(map[string]any) bool {
	return func(o map[string]any) bool {
		if o["kind"] == "Status" && o["status"] == "Failure" {
			f(o)
		}
		return true
	}
}

func onList(f func(map[string]any)) func(map[string]any) bool {
	return func(o map[string]any) bool {
		if kind, _ := o["kind"].(string); strings.HasSuffix(kind, "List") && o["items"] != nil {
			f(o)
		}
		return true
	}
}

func onEvent(kind string, f func(map[string]any)) func(map[string]any) bool {
	return func(o map[string]any) bool {
		if o["type"] == kind {
			f(inside(o, "object"))
		}
		return true
	}
}

func dropEvent(kind string) func(map[string]any) bool {
	return func(o map[string]any) bool { return o["type"] != kind }
}

func without(parameter string) func(*http.Request) {
	return func(r *http.Request) {
		query, _ := url.ParseQuery(r.URL.RawQuery)
		query.Del(parameter)
		r.URL.RawQuery = query.Encode()
	}
}
