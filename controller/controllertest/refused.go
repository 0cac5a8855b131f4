package controllertest

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

// A program whose writes fail already without a fault, say for want of a namespace, does the same nothing in all plays. So all of them would
// end alike, and find nothing. A program fails for good if between two moments of a scenario it repeats a refused write as often as this,
// and never gets it through until the play ends.
const (
	repeats     = 3           // this many refusals, as of a queue that tries again
	repeatsOver = time.Second // or longer: conflicts with a cache that is a moment behind are over sooner
)

// refusals are those of one write since it last got through, and since the last moment.
type refusals struct {
	object      string
	count       int
	first, last time.Time
	answer      string // the last one
	failing     bool   // a moment has come meanwhile, and there were enough of them
}

// countAnswerLocked notes what the server answered to a write of the program.
func (w *world) countAnswerLocked(req request, code int, body []byte) {
	if code < 300 || isAsWanted(req, code) {
		delete(w.refused, req.words())
		return
	}
	r := w.refused[req.words()]
	if r == nil {
		r = &refusals{object: req.object, first: time.Now()}
		w.refused[req.words()] = r
	}
	r.count++
	r.last = time.Now()
	r.answer = fmt.Sprintf("%d %s: %.200s", code, http.StatusText(code), messageOf(body))
}

// isAsWanted tells whether a refused write says that what it wanted is so already: many programs take such an answer for a success.
func isAsWanted(req request, code int) bool {
	return req.verb == "create" && code == http.StatusConflict || req.verb == "delete" && code == http.StatusNotFound
}

// noteFailing looks at a moment of the scenario which writes are failing. Others begin anew: a write that is refused once after each step is none.
func (w *world) noteFailing() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for words, r := range w.refused {
		r.failing = r.failing || r.count >= repeats && r.last.Sub(r.first) >= repeatsOver
		if !r.failing {
			delete(w.refused, words)
		}
	}
}

// judgeRefused is asked at the end of a play. A write that was not tried after the last step is not wanted any more: a queue at its longest
// back-off has tried again by now. These are returned.
func (w *world) judgeRefused() (gaveUp []string) {
	w.noteFailing()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.plan) > 0 {
		return nil // a fault may be the reason, and the other oracles ask what came of it
	}
	for _, words := range slices.Sorted(maps.Keys(w.refused)) {
		r := w.refused[words]
		answer := fmt.Sprintf("at %v the answer is %s", r.last.Sub(w.began).Round(time.Millisecond), r.answer)
		if r.last.Before(w.acted) {
			gaveUp = append(gaveUp, fmt.Sprintf("%s is refused %d times, and not tried after the last step; %s", words, r.count, answer))
			continue
		}
		w.foundAtLocked(r.object, Succeeds, "%s is refused %d times, and never gets through afterwards; %s", words, r.count, answer)
	}
	return gaveUp
}

// messageOf is what a Status says, in JSON or protobuf.
func messageOf(body []byte) string {
	var status metav1.Status
	if envelope, ok := bytes.CutPrefix(body, protobuf); ok {
		var unknown runtime.Unknown
		if unknown.Unmarshal(envelope) == nil {
			_ = status.Unmarshal(unknown.Raw)
		}
		return status.Message
	}
	_ = json.Unmarshal(body, &status)
	return status.Message
}
