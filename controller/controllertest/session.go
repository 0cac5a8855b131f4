package controllertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// lensEvent is what internal/lens/PROTOCOL.md calls an event. Its kind is the resource's name.
type lensEvent struct {
	Micros int64  `json:"us"`
	At     string `json:"at"`
	Kind   string `json:"kind,omitempty"`
	Key    string `json:"key,omitempty"`
	Action string `json:"action,omitempty"`
	RV     string `json:"rv,omitempty"`
	Code   int    `json:"code,omitempty"`
	Error  string `json:"error,omitempty"`
}

func (e lensEvent) answered(code int) lensEvent {
	e.Code = code
	if code >= 300 {
		e.Error = http.StatusText(code)
	}
	return e
}

// mostRecorded is how many events a session has, the last ones: the lens takes no file above a megabyte.
const mostRecorded = 4000

// sessionOf writes a play's log down as a file for the lens, up to the last event of an object. stands has the names that the server made.
func sessionOf(log []entry, stands map[string]string) []byte {
	var events []lensEvent
	last := 0
	for _, e := range log {
		seen, worth := e.forLens()
		if worth {
			events = append(events, seen)
		}
		if seen.Key != "" {
			last = len(events)
		}
	}
	events = events[max(0, last-mostRecorded):last]
	numberNames(events, stands)
	lines := make([]string, len(events))
	for i, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			panic(err) // texts and numbers can be written
		}
		lines[i] = string(line)
	}
	return fmt.Appendf(nil, "{\"glasswatch\": \"lens session 1\", \"recorded\": [\n%s\n]}\n", strings.Join(lines, ",\n"))
}

// forLens returns an entry as an event, and false if it is none.
func (e entry) forLens() (seen lensEvent, worth bool) {
	switch {
	case e.event != nil:
		what, meta := readEvent(e.event)
		key := strings.TrimPrefix(meta.Namespace+"/"+meta.Name, "/")
		seen = lensEvent{At: "decoded", Kind: e.resource, Key: key, Action: what, RV: meta.ResourceVersion}
		if e.isSent {
			seen.At = "sent"
		}
	case e.request.who == others:
		return seen, false // what comes of it is sent
	case e.lens.At != "":
		seen = e.lens
	default:
		seen = lensEvent{At: "decided", Action: strings.TrimPrefix(e.text, "--- ")}
	}
	seen.Micros = e.at.Microseconds()
	return seen, seen.Action != "BOOKMARK"
}

// numberNames gives names that the server made, of which stands has what they stand for, numbers: the first "web-*" is "web-1". So two plays of
// a plan have the same session.
func numberNames(events []lensEvent, stands map[string]string) {
	numbered, last := map[string]string{}, map[string]int{}
	for _, e := range events {
		for name, stand := range stands {
			if numbered[name] == "" && strings.Contains(e.Key, name) {
				last[stand]++
				numbered[name] = strings.Replace(stand, "*", strconv.Itoa(last[stand]), 1)
			}
		}
	}
	replacer := replacerOf(numbered)
	for i := range events {
		events[i].Key = replacer.Replace(events[i].Key)
	}
}

var methods = map[string]string{"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch, "delete": http.MethodDelete}

// requestedLocked is a request of the program.
func (w *world) requestedLocked(req request) lensEvent {
	if !req.isWrite() {
		return lensEvent{At: "request", Kind: req.resource, Action: strings.ToUpper(req.verb)}
	}
	key, known := w.realNames[req]
	if !known {
		key = req.object
	}
	return lensEvent{At: "written", Kind: req.resource + req.sub, Key: key, Action: methods[req.verb]}
}

// reading notes a list or watch of the program when its answer begins.
type reading struct {
	http.ResponseWriter
	world *world
	event lensEvent
}

func (w *world) noteReading(to http.ResponseWriter, req request, r *http.Request) http.ResponseWriter {
	w.mu.Lock()
	defer w.mu.Unlock()
	event := w.requestedLocked(req)
	event.RV = r.URL.Query().Get("resourceVersion")
	return &reading{to, w, event}
}

func (r *reading) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *reading) WriteHeader(code int) {
	r.world.add(entry{lens: r.event.answered(code)})
	r.ResponseWriter.WriteHeader(code)
}
