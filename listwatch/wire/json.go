package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"
)

// jsonFormat is application/json. It decodes with apimachinery's decoder: names are case-sensitive, integers stay
// integers.
type jsonFormat struct{}

// Event implements Format. The frame is JSON if its brackets match and the decoder says so.
func (jsonFormat) Event(frame []byte) (typ string, object Object, err error) {
	var event struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	err = utiljson.Unmarshal(frame, &event)
	switch {
	case err != nil && !json.Valid(frame):
		err = fmt.Errorf("%w: %w", ErrGarbage, err)
	case err != nil:
		err = fmt.Errorf("watch event: %w", err)
	case event.Object == nil:
		err = errors.New("watch event without an object")
	}
	object = Object{isJSON: true, bytes: event.Object}
	if event.Type == "ERROR" || event.Type == "" {
		err = noEvent(event.Type, frame, object, err)
	}
	return event.Type, object, err
}

// List implements Format.
func (jsonFormat) List(body []byte) (List, error) {
	var list struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ListMeta   `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}
	if err := utiljson.Unmarshal(body, &list); err != nil {
		return List{}, fmt.Errorf("the list cannot be read: %w", err)
	}
	parts := List{TypeMeta: list.TypeMeta, ListMeta: list.Metadata, Items: make([]Object, 0, len(list.Items))}
	for _, item := range list.Items {
		parts.Items = append(parts.Items, Object{isJSON: true, bytes: item})
	}
	return parts, checkList(body, list.TypeMeta, list.Items != nil)
}

func metadataInJSON(object []byte) (meta metav1.ObjectMeta, ok bool) {
	var partial struct {
		Metadata struct {
			Namespace       string    `json:"namespace"`
			Name            string    `json:"name"`
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
		} `json:"metadata"`
	}
	// Of a field that comes twice, a map keeps other values than a struct.
	twice, err := kjson.UnmarshalStrict(object, &partial, kjson.DisallowDuplicateFields)
	if err != nil {
		return meta, false
	}
	m := partial.Metadata
	meta.Namespace, meta.Name, meta.UID, meta.ResourceVersion = m.Namespace, m.Name, m.UID, m.ResourceVersion
	return meta, len(twice) == 0 && m.Name != ""
}

// jsonCutter finds the end of a JSON object by counting brackets outside strings. It goes on where the call before
// stopped, so that a frame that arrives in pieces is read once. The decoder finds out whether the frame is JSON.
type jsonCutter struct {
	scanned  int // bytes of the frame that were read already
	depth    int // of open brackets
	inString bool
	escaped  bool // the byte before was a backslash in a string
}

// frame finds the first frame in the bytes that have arrived: it returns how many bytes of data to skip, and how many
// of those behind them are the frame. If it has not arrived whole, ok is false. Then the call after has the bytes that
// are not skipped, and perhaps more behind them. An error comes again.
func (c *jsonCutter) frame(data []byte, limit int) (skip, size int, ok bool, err error) {
	if c.scanned == 0 {
		for skip < len(data) && isSpace(data[skip]) {
			skip++
		}
		data = data[skip:]
		if len(data) > 0 && data[0] != '{' {
			return 0, 0, false, fmt.Errorf("watch stream has %.20q where a JSON object must start", data)
		}
	}
	for c.scanned < min(len(data), limit) {
		c.step(data[c.scanned])
		c.scanned++
		if c.depth == 0 {
			size = c.scanned
			*c = jsonCutter{}
			return skip, size, true, nil
		}
	}
	if len(data) > limit {
		return 0, 0, false, tooLarge(uint64(len(data)), limit)
	}
	return skip, 0, false, nil
}

func (c *jsonCutter) step(b byte) {
	switch {
	case c.escaped:
		c.escaped = false
	case c.inString:
		c.escaped, c.inString = b == '\\', b != '"'
	case b == '"':
		c.inString = true
	case b == '{' || b == '[':
		c.depth++
	case b == '}' || b == ']':
		c.depth--
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }
