package controllertest

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// entry is a line of the log: a request, what the program saw of one, or something else that happened.
type entry struct {
	at       time.Duration
	object   string // empty: of no object
	text     string
	resource string // of a watch event, which is read only if it is to be told
	event    []byte
	isSent   bool      // of a watch event: by the server, and the program has not seen it yet
	seenBy   string    // of a watch event
	request  request   // of an answer
	lens     lensEvent // what the lens shows, if it is not the text
}

func (w *world) note(object, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteLocked(object, format, args...)
}

func (w *world) noteLocked(object, format string, args ...any) {
	w.addLocked(entry{object: object, text: fmt.Sprintf(format, args...)})
}

func (w *world) add(e entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addLocked(e)
}

func (w *world) addLocked(e entry) {
	e.at = time.Since(w.began)
	w.log = append(w.log, e)
}

// read returns an entry whose event has been put into words, and false if it is not worth telling.
func (e entry) read(generated *names) (entry, bool) {
	if e.event == nil {
		return e, e.text != ""
	}
	if e.isSent {
		return e, false
	}
	what, meta := readEvent(e.event)
	if what == "BOOKMARK" {
		return e, false
	}
	e.object = generated.replace(strings.TrimPrefix(meta.Namespace+"/"+meta.Name, "/"))
	e.text = fmt.Sprintf("    %s sees %s %s %s, version %s", e.seenBy, what, e.resource, e.object, meta.ResourceVersion)
	return e, true
}

// readEvent reads an event as the server has written it: in JSON, or in protobuf after four bytes with the length.
func readEvent(frame []byte) (what string, meta metav1.ObjectMeta) {
	var inProtobuf metav1.WatchEvent
	if len(frame) > 4 && frame[0] != '{' && inProtobuf.Unmarshal(frame[4:]) == nil {
		return inProtobuf.Type, metaOf(inProtobuf.Object.Raw)
	}
	var event struct {
		Type   string                       `json:"type"`
		Object metav1.PartialObjectMetadata `json:"object"`
	}
	if json.Unmarshal(frame, &event) != nil {
		return "an unreadable event of", meta
	}
	return event.Type, event.Object.ObjectMeta
}

// A story that is longer has this many lines of its beginning and of its end, and what must not be missing in between.
const (
	headTold = 15
	tailTold = 25
)

// story is what happened around some objects.
func (w *world) story(concerned map[string]bool) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []line
	last := 0 // the lines up to the last one that is about an object, or says what users do
	for _, e := range w.log {
		e, worth := e.read(&w.generated)
		isStep, isFault := strings.HasPrefix(e.text, "--- "), strings.HasPrefix(e.text, "*** ")
		if worth && (e.object == "" || concerned[e.object]) {
			lines = append(lines, line{fmt.Sprintf("  %12s  %s", e.at.Round(time.Millisecond), e.text), isStep || isFault})
		}
		if e.object != "" || isStep {
			last = len(lines)
		}
	}
	return strings.Join(shortened(lines[:last]), "\n")
}

// line is one of a story. Faults and steps are never left out.
type line struct {
	text  string
	stays bool
}

// shortened leaves out most of the middle of a story that is long.
func shortened(lines []line) (texts []string) {
	left := 0
	for n, l := range lines {
		if n >= headTold && n < len(lines)-tailTold && !l.stays {
			left++
			continue
		}
		if left > 0 {
			texts = append(texts, fmt.Sprintf("  (%d lines are left out)", left))
			left = 0
		}
		texts = append(texts, l.text)
	}
	return texts
}

// objectOf is the object in the path of a difference: "after apply a.yaml: Service default/web .spec.type" is of default/web.
func objectOf(path string) string {
	if _, after, ok := strings.Cut(path, ": "); ok {
		path = after
	}
	_, object, _ := strings.Cut(path, " ")
	object, _, _ = strings.Cut(object, " ")
	object, _, _ = strings.Cut(object, "~")
	return object
}
