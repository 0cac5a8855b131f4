package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fault is what happens to the next n writes of a kind. A write is named by what it does and to what, such as
// "create deployments", "change secrets", "delete services" or "change cloudmanagers/status".
type fault struct {
	write string
	n     int
	code  int // the answer's; 0: the write is done, and the connection breaks before the answer; or unchanged
}

// unchanged is the code of a fault in which the write succeeds and changes nothing, as by an admission webhook that
// takes the change back.
const unchanged = -1

// wire stands between the operator and the server. It counts the operator's writes and plays faults.
type wire struct {
	latency time.Duration // of a write. In virtual time Events of one instant would get the same name

	mu        sync.Mutex // guards what follows
	faults    []fault
	writes    map[string]int
	conflicts map[string]int // those of the writes that the server refused because the object had changed
}

func (w *wire) fail(faults ...fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, faults...)
}

// clear takes back the faults that have not happened.
func (w *wire) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = nil
}

// left is how many planned faults have not happened.
func (w *wire) left() (left []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.faults {
		if f.n > 0 {
			left = append(left, f.write)
		}
	}
	return left
}

// count is the number of writes with that name so far, or of all with "".
func (w *wire) count(write string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	sum := 0
	for name, n := range w.writes {
		if write == "" || name == write {
			sum += n
		}
	}
	return sum
}

func (w *wire) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		write := nameOf(r)
		if write != "" && w.latency > 0 {
			<-time.After(w.latency)
		}
		f, faulty := w.take(write)
		switch {
		case !faulty:
			resp, err := next.RoundTrip(r)
			if err == nil && resp.StatusCode == http.StatusConflict {
				w.mu.Lock()
				w.conflicts[write]++
				w.mu.Unlock()
			}
			return resp, err
		case f.code == unchanged:
			read := r.Clone(r.Context())
			read.Method, read.Body, read.ContentLength, read.URL.RawQuery = http.MethodGet, nil, 0, ""
			return next.RoundTrip(read)
		case f.code != 0:
			return refusal(r, f.code), nil
		}
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		_ = resp.Body.Close()
		return nil, errors.New("connection broken by the test")
	})
}

// done is the number of writes with that name that met no conflict.
func (w *wire) done(write string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writes[write] - w.conflicts[write]
}

// take counts the write and returns the fault that it meets, if any.
func (w *wire) take(write string) (fault, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if write == "" {
		return fault{}, false
	}
	w.writes[write]++
	for i := range w.faults {
		if f := &w.faults[i]; f.write == write && f.n > 0 {
			f.n--
			return *f, true
		}
	}
	return fault{}, false
}

type roundTripper func(r *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// nameOf names a write; a read is "".
func nameOf(r *http.Request) string {
	verbs := map[string]string{"POST": "create", "PUT": "change", "PATCH": "change", "DELETE": "delete"}
	verb := verbs[r.Method]
	_, path, found := strings.Cut(r.URL.Path, "/namespaces/")
	if verb == "" || !found {
		return ""
	}
	parts := strings.Split(path, "/") // namespace, resource, name, subresource
	if len(parts) < 2 {
		return ""
	}
	if len(parts) == 4 {
		parts[1] += "/" + parts[3]
	}
	return verb + " " + parts[1]
}

var reasons = map[int]metav1.StatusReason{
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
}

func refusal(r *http.Request, code int) *http.Response {
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(code), Reason: reasons[code],
		Message: fmt.Sprintf("refused by the test with %d, for %s", code, strings.Repeat("many words ", 200)),
	})
	if err != nil {
		panic(err) // a Status always has a JSON form
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(bytes.NewReader(body)),
	}
}
