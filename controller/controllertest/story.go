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
	e.text = fmt.Sprintf("    the program sees %s %s %s, version %s", what, e.resource, e.object, meta.ResourceVersion)
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

// told is how many lines a story has.
const told = 40

// story is what happened around some objects, the last of it.
func (w *world) story(concerned map[string]bool) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	last := 0 // the lines up to the last one that is about an object
	for _, e := range w.log {
		e, worth := e.read(&w.generated)
		if worth && (e.object == "" || concerned[e.object]) {
			lines = append(lines, fmt.Sprintf("  %12s  %s", e.at.Round(time.Millisecond), e.text))
		}
		if e.object != "" {
			last = len(lines)
		}
	}
	lines = lines[:last]
	if left := len(lines) - told; left > 0 {
		lines = append([]string{fmt.Sprintf("  (%d lines before)", left)}, lines[left:]...)
	}
	return strings.Join(lines, "\n")
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
