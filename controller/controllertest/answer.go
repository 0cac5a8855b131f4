package controllertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fromOthers answers everybody but the program.
func (w *world) fromOthers(answer http.ResponseWriter, r *http.Request) {
	req := w.name(others, r, read(r))
	if req.verb == "watch" {
		// Each watch that ends and begins again costs a play as much as a write. Only the program's have to. A time below that of
		// an informer is the step's own.
		query := r.URL.Query()
		seconds, err := strconv.Atoi(query.Get("timeoutSeconds"))
		if err != nil || seconds >= 300 {
			query.Set("timeoutSeconds", "86400")
			r.URL.RawQuery = query.Encode()
		}
	}
	w.handle(nil, req, answer, r)
}

// read takes the whole body, so that a request can be handled after its connection broke.
func read(r *http.Request) []byte {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the sender is gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// name names a request, and counts it.
func (w *world) name(who string, r *http.Request, body []byte) request {
	req := parse(who, r, body)
	w.mu.Lock()
	defer w.mu.Unlock()
	real := req.object
	req.object = w.generated.replace(real)
	if req.isWrite() {
		w.counts[req.words()]++
		req.nth = w.counts[req.words()]
		if real != req.object {
			w.realNames[req] = real
		}
		if who == program {
			w.attempts++
		}
		w.countTryLocked(req)
	}
	return req
}

// handle answers a write with the fault that is planned for it, and everything else as it is.
func (w *world) handle(from *instance, req request, answer http.ResponseWriter, r *http.Request) {
	if !req.isWrite() {
		w.api.ServeHTTP(answer, r)
		return
	}
	time.Sleep(time.Millisecond) // writes that nothing orders come in the order of virtual time, not in the scheduler's
	h := &hit{world: w, request: req, from: from, answer: answer,
		commit: func(to http.ResponseWriter) {
			w.commit(from, req, to, r.WithContext(context.WithoutCancel(r.Context())))
		}}
	if from != nil && from.isCutOff(req) {
		time.Sleep(inVain)
		h.breakOff()
	}
	fault := w.due(req)
	if fault == "" {
		h.commit(answer)
		return
	}
	w.add(entry{object: req.object, text: fmt.Sprintf("*** %s: %s", fault, req),
		lens: lensEvent{At: "decided", Action: string(fault), Error: req.String()}})
	behaviours[fault].do(h)
}

// due returns the fault that is planned for a request, and begins it.
func (w *world) due(req request) Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current == nil {
		return ""
	}
	for i, p := range w.plan {
		if p.at == req {
			w.plan[i].at = request{}
			w.fired++
			w.calmAfterLocked(2*behaviours[p.fault].lasts + time.Minute)
			return p.fault
		}
	}
	return ""
}

// commit lets the server handle a write, and asks Always about what came of it. from is nil if others write.
func (w *world) commit(from *instance, req request, answer http.ResponseWriter, r *http.Request) {
	seen := &observed{ResponseWriter: answer, to: from, code: http.StatusOK, keep: strings.HasSuffix(req.object, "*")}
	w.committing <- struct{}{}
	defer func() { <-w.committing }()
	before := w.server.Revision()
	w.mu.Lock()
	began := len(w.log)
	w.mu.Unlock()
	w.api.ServeHTTP(seen, r)
	changed := seen.code < 300 && w.server.Revision() != before
	w.record(req, seen, changed, began)
	if always := w.scenario.Always; changed && always != nil {
		err := <-protected(func() error { return always(w.viewer.view()) })
		if err != nil {
			w.foundAt(req.object, Invariant, "after %s: %v", req, err)
		}
	}
}

// record notes a write that was committed when the log had began entries. What the program saw of it meanwhile comes after it.
func (w *world) record(req request, seen *observed, changed bool, began int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if seen.keep && seen.code < 300 {
		name, stand := metaOf(seen.body.Bytes()).Name, path.Base(req.object)
		w.generated.learn(name, stand)
		w.realNames[req] = strings.TrimSuffix(req.object, stand) + name
	}
	if changed {
		w.effective++
	}
	if !changed && seen.code < 300 && req.who == program && !req.isDry {
		w.countVainLocked(req)
	}
	if req.who == program && !req.isDry {
		w.countAnswerLocked(req, seen.code, seen.body.Bytes())
	}
	if w.current != nil { // no fault is possible before the program runs
		w.writes = append(w.writes, written{req, seen.code, changed})
	}
	revision := w.server.Revision()
	of := ""
	if seen.to != nil && seen.to.replaced {
		of = " of " + seen.to.whoLocked()
	}
	answer := entry{object: req.object, text: fmt.Sprintf("%s%s: %s", req, of, result(seen.code, changed, revision)), request: req,
		lens: w.requestedLocked(req).answered(seen.code)}
	if changed {
		answer.lens.RV = strconv.FormatInt(revision, 10)
	}
	answer.at = time.Since(w.began)
	w.log = slices.Insert(w.log, began, answer)
	tooMany := w.effective > w.limit || w.attempts > 10*w.limit
	if tooMany && !w.ending && w.current != nil && w.scenario.asks(Settles) {
		w.foundLocked(Settles, "%d writes have changed something, and the program has tried %d: it is stopped. The last ones are\n%s",
			w.effective, w.attempts, w.lastWritesLocked(10))
		w.stopped, w.ending = true, true
		w.current.dead = true
		w.current.cancel()
	}
}

func result(code int, changed bool, revision int64) string {
	switch {
	case code >= 300:
		return fmt.Sprint(code, " ", http.StatusText(code))
	case !changed:
		return "changes nothing"
	}
	return fmt.Sprint("version ", revision)
}

// observed remembers what was answered.
type observed struct {
	http.ResponseWriter
	to   *instance // nil: others
	code int
	keep bool
	body bytes.Buffer
}

func (o *observed) WriteHeader(code int) {
	o.code = code
	o.keep = o.keep || code >= 300 // why it is refused
	o.ResponseWriter.WriteHeader(code)
}

func (o *observed) Write(p []byte) (int, error) {
	if o.keep {
		o.body.Write(p)
	}
	return o.ResponseWriter.Write(p)
}

func (o *observed) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// nowhere takes an answer that nobody will get.
func nowhere() http.ResponseWriter { return &lost{header: http.Header{}} }

type lost struct{ header http.Header }

func (l *lost) Header() http.Header         { return l.header }
func (l *lost) Write(p []byte) (int, error) { return len(p), nil }
func (l *lost) WriteHeader(int)             {}

// breakOff ends a request without an answer.
func (h *hit) breakOff() { panic(http.ErrAbortHandler) }

func (h *hit) refuse(code int, reason metav1.StatusReason, retryAfter int) {
	h.mu.Lock()
	h.addLocked(entry{object: h.request.object, text: fmt.Sprintf("%s: %d %s", h.request, code, http.StatusText(code)), request: h.request,
		lens: h.requestedLocked(h.request).answered(code)})
	h.mu.Unlock()
	h.answer.Header().Set("Content-Type", "application/json")
	if retryAfter > 0 {
		h.answer.Header().Set("Retry-After", fmt.Sprint(retryAfter))
	}
	h.answer.WriteHeader(code)
	_ = json.NewEncoder(h.answer).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason,
		Message: "a fault of the test", Details: &metav1.StatusDetails{RetryAfterSeconds: int32(retryAfter)},
	})
}
