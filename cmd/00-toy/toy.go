// Command 00-toy is a complete informer with its controller in one file, this one, on the standard library alone. The
// controller keeps a copy, "a-copy", of each ConfigMap "a" that has the label group=original. main.go plays a story.
//
//	API server ──list, watch──▶ mirror ─▶ store ─▶ handle ─▶ queue ─▶ work ─▶ reconcile ──write──▶ API server
//
// The toy is correct. It misses no deletion, it resumes a broken watch, it lists again if the server has forgotten what
// happened, it never reconciles one name twice at once, and it retries what failed. It lacks what the layers add:
//
//	listwatch       pages; protobuf; other kinds than ConfigMap; one bad object does not block the others
//	reflector       streaming lists; bookmarks; Retry-After; a server that was restored from a backup
//	deltafifo       a queue before the store: the toy's handler holds up its watch
//	indexer         indices and snapshots: the toy finds objects by name only
//	sharedinformer  many handlers, also late ones; HasSynced; resyncs; a handler learns the old state
//	workqueue       one limit for all retries; priorities; metrics; keys of any type; no search for duplicates
//	controller      a panic fails one key only; RequeueAfter; errors that are not retried; a drain at the end
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const selector = "?labelSelector=group+in+(original,copy)"
const suffix = "-copy" // of the names of copies

// object is the part of a ConfigMap, or of a Status, that the toy reads and writes. An update drops the other fields.
type object struct {
	Metadata struct {
		Name            string            `json:"name"`
		UID             string            `json:"uid,omitempty"`
		ResourceVersion string            `json:"resourceVersion,omitempty"`
		Labels          map[string]string `json:"labels,omitempty"`
	} `json:"metadata"`
	Data map[string]string `json:"data,omitempty"`
	Code refusal           `json:"code,omitempty"` // of a Status only
}

// refusal is an HTTP status that is no success.
type refusal int

func (r refusal) Error() string { return fmt.Sprintf("%d %s", int(r), http.StatusText(int(r))) }

// toy is one informer and its controller.
type toy struct {
	client *http.Client // its Timeout, longer than a watch, ends connections that died silently
	url    string       // of the ConfigMaps of one namespace
	queue  *queue
	saw    func(who, format string, args ...any) // is told each step; who is "informer", or a name that a worker has
	mu     sync.Mutex                            // protects store
	store  map[string]object                     // by name; an object in it is never changed, only replaced
}

func newToy(client *http.Client, url string, saw func(who, format string, args ...any)) *toy {
	q := &queue{changed: sync.NewCond(&sync.Mutex{}), atWork: map[string]bool{}, failures: map[string]int{}}
	return &toy{client: client, url: url, saw: saw, queue: q, store: map[string]object{}}
}

// run blocks until ctx ends. When it returns, its goroutines have ended.
func (t *toy) run(ctx context.Context) {
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { t.work(ctx) })
	}
	t.mirror(ctx)
	t.queue.shutDown()
	group.Wait()
}

// mirror keeps the store equal to the server: it lists (version is empty), and watches from the list's version on. A watch
// that ended or broke is resumed at its last version, also if the server is busy (429) or broken (5xx). After any other
// refusal a new list follows. Mostly it is 410: the server has forgotten what happened since that version.
func (t *toy) mirror(ctx context.Context) {
	for version, failures := "", 0; ctx.Err() == nil; {
		var err error
		if version == "" {
			if version, err = t.list(ctx); version != "" {
				continue // with a watch
			}
		} else {
			start := time.Now()
			version, err = t.watch(ctx, version)
			if time.Since(start) > time.Second {
				failures = 0 // the watch worked for a while, so its end is a first failure
			}
		}
		if r, refused := errors.AsType[refusal](err); refused && r < 500 && r != http.StatusTooManyRequests {
			version = ""
		}
		t.saw("informer", "%v", err)
		failures++
		select {
		case <-ctx.Done():
		case <-time.After(backoff(failures)):
		}
	}
}

// list replaces the store's content, and returns the version at which a watch can start.
func (t *toy) list(ctx context.Context) (version string, err error) {
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []object
	}
	if err = t.send(ctx, "GET", selector, nil, func(d *json.Decoder) error { return d.Decode(&list) }); err != nil {
		return "", fmt.Errorf("list: %w", err)
	}
	t.saw("informer", "listed %d at resourceVersion %s", len(list.Items), list.Metadata.ResourceVersion)
	t.replace(list.Items)
	return list.Metadata.ResourceVersion, nil
}

// watch applies events until the stream ends, and returns the version of the last one. Each stream ends at some time, so
// err is never nil. It is EOF if the server ended the stream.
func (t *toy) watch(ctx context.Context, version string) (last string, err error) {
	path := selector + "&watch=true&timeoutSeconds=300&resourceVersion=" + version
	err = t.send(ctx, "GET", path, nil, func(body *json.Decoder) error {
		for {
			var event struct {
				Type   string
				Object object
			}
			if err := body.Decode(&event); err != nil {
				return err
			}
			if event.Type == "ERROR" || event.Object.Metadata.Name == "" {
				return event.Object.Code // of the Status; 0 if it has none, which is a refusal as well
			}
			t.apply(event.Type, event.Object)
			t.saw("informer", "%s %s", event.Type, event.Object.Metadata.Name)
			version = event.Object.Metadata.ResourceVersion // only now: the store has the event
		}
	})
	return version, fmt.Errorf("watch: %w", err)
}

// replace makes the store equal to a list. What the list lacks was deleted while there was no watch: its last known state
// stands for it, a tombstone. Unchanged objects are handled, too: their copies may have come and gone without a watch.
func (t *toy) replace(items []object) {
	gone := maps.Clone(t.store) // without the lock: only this goroutine writes to the store
	for _, item := range items {
		t.saw("informer", "LISTED %s", item.Metadata.Name)
		t.apply("LISTED", item)
		delete(gone, item.Metadata.Name)
	}
	for name, tombstone := range gone {
		t.saw("informer", "the list lacks %s", name)
		t.apply("DELETED", tombstone)
		t.saw("informer", "DELETED %s", name)
	}
}

// apply changes the store by one event, and then tells the handler.
func (t *toy) apply(eventType string, obj object) {
	t.mu.Lock()
	t.store[obj.Metadata.Name] = obj
	if eventType == "DELETED" {
		delete(t.store, obj.Metadata.Name)
	}
	t.mu.Unlock()
	t.handle(obj)
}

// handle is the handler. It adds the original's name to the queue, also if the copy changed. The queue does not learn
// what happened: reconcile reads the present state from the store.
func (t *toy) handle(obj object) {
	t.queue.add(strings.TrimSuffix(obj.Metadata.Name, suffix))
}

// work is a worker's loop.
func (t *toy) work(ctx context.Context) {
	for name, open := t.queue.get(); open; name, open = t.queue.get() {
		did, err := t.reconcile(ctx, name)
		if err != nil {
			did = strings.Replace(did, "copy", "copy not", 1) + ": " + err.Error()
		}
		t.saw(name, "%s", did)
		t.queue.done(name, err)
	}
}

// reconcile compares what is with what should be, and writes at most once. The store may be behind the server, even
// behind this controller's own writes. Then the name, resourceVersion or uid in a write lets the server refuse it. A
// refusal is retried like any error, and the store has caught up by then.
func (t *toy) reconcile(ctx context.Context, name string) (did string, err error) {
	t.mu.Lock()
	original, copied := t.store[name], t.store[name+suffix]
	t.mu.Unlock()
	wanted, found := original.Metadata.Labels["group"] == "original", copied.Metadata.Name != ""
	switch {
	case found && copied.Metadata.Labels["group"] != "copy":
		return "copy left alone: it is not ours", nil
	case found && !wanted:
		same := map[string]any{"preconditions": map[string]string{"uid": copied.Metadata.UID}}
		return "copy deleted", t.send(ctx, "DELETE", "/"+name+suffix, same, nil)
	case wanted && !found:
		copied.Metadata.Name, copied.Metadata.Labels = name+suffix, map[string]string{"group": "copy"}
		copied.Data = original.Data
		return "copy created", t.send(ctx, "POST", "", copied, nil)
	case wanted && !maps.Equal(copied.Data, original.Data):
		copied.Data = original.Data // copied is a shallow copy of what is in the store
		return "copy corrected", t.send(ctx, "PUT", "/"+name+suffix, copied, nil)
	}
	return "nothing to do", nil
}

// send makes a request, and lets read decode the answer if it is not nil.
func (t *toy) send(ctx context.Context, method, path string, content any, read func(*json.Decoder) error) error {
	body := &bytes.Buffer{}
	if content != nil {
		_ = json.NewEncoder(body).Encode(content) // it cannot fail: strings and maps of strings
	}
	req, err := http.NewRequestWithContext(ctx, method, t.url+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 300:
		return refusal(resp.StatusCode)
	case read != nil:
		return read(json.NewDecoder(resp.Body))
	}
	return nil
}

// queue holds names. A name that is added twice before a worker takes it is there once. A name that is added while a
// worker has it waits until that worker is done. So no two workers have the same name, and no change is lost.
type queue struct {
	changed  *sync.Cond // its lock protects what follows
	waiting  []string   // Invariant: without duplicates
	atWork   map[string]bool
	failures map[string]int // since the last success
	over     bool
}

func (q *queue) add(name string) {
	q.changed.L.Lock()
	defer q.changed.L.Unlock()
	if !slices.Contains(q.waiting, name) { // it may be in atWork as well: then get passes over it until done
		q.waiting = append(q.waiting, name)
	}
	q.changed.Broadcast()
}

// get waits for a name. After shutDown it returns open=false.
func (q *queue) get() (name string, open bool) {
	q.changed.L.Lock()
	defer q.changed.L.Unlock()
	for ; !q.over; q.changed.Wait() {
		if i := slices.IndexFunc(q.waiting, func(name string) bool { return !q.atWork[name] }); i >= 0 {
			name = q.waiting[i]
			q.waiting = slices.Delete(q.waiting, i, i+1)
			q.atWork[name] = true
			return name, true
		}
	}
	return "", false
}

// done gives back a name that get returned. After an error the name is added again, after a backoff.
func (q *queue) done(name string, err error) {
	q.changed.L.Lock()
	defer q.changed.L.Unlock()
	delete(q.atWork, name)
	q.failures[name]++
	if err != nil {
		time.AfterFunc(backoff(q.failures[name]), func() { q.add(name) })
	} else {
		delete(q.failures, name)
	}
	q.changed.Broadcast()
}

func (q *queue) shutDown() {
	q.changed.L.Lock()
	defer q.changed.L.Unlock()
	q.over = true
	q.changed.Broadcast()
}

// backoff grows from 100 ms to 30 s. Half of it is jitter, so that the clients of a server do not all return at once.
func backoff(failures int) time.Duration {
	half := min(50*time.Millisecond<<min(failures-1, 20), 15*time.Second)
	return half + rand.N(half)
}
