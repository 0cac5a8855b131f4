package controllertest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// All of a play has one clock. That the program's is ahead of the others' shows in what they tell each other: the times in Leases. So at the
// program's door, times that come in become earlier, and times that go out later:
//
//	program, 6 minutes ahead ──renewTime 12:00──▶ door ──12:06──▶ server      written at 12:00 by the clock of the play
//	                         ◀──renewTime 11:54── door ◀──12:00── server      and takes what is fresh for 6 minutes old
//
// What an informer of Leases has in its cache keeps the times that it was sent, until the next renewal.

// setClock puts the program's clock ahead for some minutes.
func (w *world) setClock(ahead time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock += ahead
	time.AfterFunc(minutes, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.clock -= ahead
		w.noteLocked("", "the program's clock is right again")
	})
}

func (w *world) clockAhead() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

func isLease(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/apis/coordination.k8s.io/") && strings.Contains(r.URL.Path+"/", "/leases/")
}

// answerLease answers a request about Leases, whose times it changes, as those in the answer. The answer comes in JSON, also if the program
// would take protobuf.
func (i *instance) answerLease(to http.ResponseWriter, r *http.Request, body []byte) {
	writer, err := i.shiftLease(to, r, body)
	if err != nil {
		http.Error(to, fmt.Sprintf("controllertest cannot read this request about a Lease: %v", err), http.StatusBadRequest)
		return
	}
	i.answerAs(i.name(program, r, body), writer, r)
	writer.finish()
}

// shiftLease changes the times in a request about Leases, and returns a writer that changes those in the answer.
func (i *instance) shiftLease(to http.ResponseWriter, r *http.Request, body []byte) (*leaseWriter, error) {
	i.mu.Lock()
	i.leases = true
	i.mu.Unlock()
	r.Header.Set("Accept", strings.ReplaceAll(r.Header.Get("Accept"), runtime.ContentTypeProtobuf, runtime.ContentTypeJSON))
	ahead := i.clockAhead()
	if ahead != 0 && len(body) > 0 {
		shifted, isJSON, err := shiftBody(body, ahead)
		if err != nil {
			return nil, err
		}
		if isJSON && bytes.HasPrefix(body, protobuf) {
			r.Header.Set("Content-Type", runtime.ContentTypeJSON)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(shifted)), int64(len(shifted))
	}
	writer := &leaseWriter{ResponseWriter: to, world: i.world}
	if !r.URL.Query().Has("watch") {
		writer.whole = &bytes.Buffer{}
	}
	return writer, nil
}

// shiftBody changes the times in a Lease or a patch of one, and returns it in JSON. Other bodies in protobuf, which are options, stay.
func shiftBody(body []byte, by time.Duration) (shifted []byte, isJSON bool, err error) {
	if envelope, ok := bytes.CutPrefix(body, protobuf); ok {
		var unknown runtime.Unknown
		if err := unknown.Unmarshal(envelope); err != nil {
			return nil, false, err
		}
		if unknown.Kind != "Lease" {
			return body, false, nil
		}
		lease := coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: unknown.APIVersion, Kind: unknown.Kind}}
		if err := lease.Unmarshal(unknown.Raw); err != nil {
			return nil, false, err
		}
		if body, err = json.Marshal(lease); err != nil {
			return nil, false, err
		}
	}
	body, err = yaml.YAMLToJSON(body) // apply patches may be in YAML; JSON is YAML, too
	if err != nil {
		return nil, false, err
	}
	shifted, err = shiftJSON(body, by)
	return shifted, true, err
}

func shiftJSON(text []byte, by time.Duration) ([]byte, error) {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	shiftTimes(value, by)
	return json.Marshal(value)
}

func isLeaseTime(field string) bool { return field == "renewTime" || field == "acquireTime" }

// shiftTimes changes the times of Leases, wherever they are in a value: in an object, a list, an event or a patch.
func shiftTimes(value any, by time.Duration) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			shiftTimes(element, by)
		}
	case map[string]any:
		for key, field := range v {
			if text, ok := field.(string); ok && isLeaseTime(key) {
				v[key] = shifted(text, by)
			} else {
				shiftTimes(field, by)
			}
		}
		path, _ := v["path"].(string) // of an operation in a JSON patch
		text, ok := v["value"].(string)
		if ok && isLeaseTime(path[strings.LastIndex(path, "/")+1:]) {
			v["value"] = shifted(text, by)
		}
	}
}

// shifted returns a time that is later, or the text if it is no time: the server will say so.
func shifted(text string, by time.Duration) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return at.Add(by).UTC().Format(metav1.RFC3339Micro)
}

// leaseWriter changes the times in an answer as the program's clock has them when it is written. The server writes each event of a watch in
// one piece. Other answers are kept until finish.
type leaseWriter struct {
	http.ResponseWriter
	world *world
	whole *bytes.Buffer // nil: a watch
}

func (l *leaseWriter) Unwrap() http.ResponseWriter { return l.ResponseWriter }

func (l *leaseWriter) Write(text []byte) (int, error) {
	if l.whole != nil {
		return l.whole.Write(text)
	}
	return len(text), l.send(text)
}

func (l *leaseWriter) finish() {
	if l.whole != nil {
		_ = l.send(l.whole.Bytes())
	}
}

func (l *leaseWriter) send(text []byte) error {
	if ahead := l.world.clockAhead(); ahead != 0 {
		changed, err := shiftJSON(text, -ahead)
		if err == nil { // else it is no JSON, so that there is no Lease in it
			text = append(changed, '\n')
		}
	}
	_, err := l.ResponseWriter.Write(text)
	return err
}
