// Command 04-reflector keeps a map equal to the server, state by state, through all kinds of faults.
package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"glasswatch/cmd/internal/demo"
	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/reflector"
)

func main() { demo.Main(story) }

var story = demo.Story{Name: "04-reflector", Title: "A state machine that stays equal to the server, whatever happens",
	Layer: "reflector/state.go", Next: "docs/learn/tour.md, chapter 3", Tell: demo.Steps(tell)}

func tell(ctx context.Context, d *demo.Demo) {
	m := &mirror{Demo: d, Teller: d.Teller(ctx), objects: map[string]string{}}
	r := reflector.New(d.ConfigMaps("mirror"), m, reflector.Options{Name: "configmaps", OnTransition: m.onTransition,
		OnError: func(_ context.Context, err error) { m.why = err.Error() },
		Backoff: reflector.Backoff{Base: 200 * time.Millisecond, Jitter: -1}}) // by default 0.8 seconds and up to a minute
	m.Step("A list, and then a watch")
	m.Put(ctx, "mirror", "a", "b")
	stop := m.Go(ctx, r.Run)
	m.expect(ctx, "→ Watching")
	m.Put(ctx, "mirror", "c")
	m.Remove(ctx, "a")
	m.Did("created c, deleted a")
	m.Until("Add c")
	m.expect(ctx, "Delete a")
	m.Why("the list is a watch that says when it is complete, and then goes on: a streaming list")
	m.Step("A deletion that is missed")
	stop()
	m.Remove(ctx, "b")
	m.Put(ctx, "mirror", "d")
	m.Did("ended Run, and it is %s; deleted b, created d; and Run again", r.State())
	m.Go(ctx, r.Run)
	m.expect(ctx, "→ Watching")
	m.Why("nothing says that b was deleted: the list lacks it, and Replace makes the list the whole content")
	faults(ctx, m)
}

// mirror is the sink: a map of names to resourceVersions. It reports each call and each transition, and the reflector
// waits until that is printed.
type mirror struct {
	*demo.Demo
	*demo.Teller
	objects map[string]string
	why     string // of the next transition, if the reflector has reported it
}

func (m *mirror) put(call string, object *corev1.ConfigMap) error {
	m.objects[object.Name] = object.ResourceVersion
	m.Teller.Tell("%s %s", call, object.Name)
	return nil
}

func (m *mirror) Add(object *corev1.ConfigMap) error    { return m.put("Add", object) }
func (m *mirror) Update(object *corev1.ConfigMap) error { return m.put("Update", object) }
func (m *mirror) Delete(object *corev1.ConfigMap) error { return m.DeleteKey(listwatch.KeyOf(object)) }
func (m *mirror) Bookmark(string) error                 { return nil }

func (m *mirror) DeleteKey(key listwatch.Key) error {
	delete(m.objects, key.Name)
	m.Teller.Tell("Delete %s", key.Name)
	return nil
}

func (m *mirror) Replace(objects []*corev1.ConfigMap, _ []listwatch.Key, _ string) error {
	m.why = fmt.Sprintf("the list is complete: %d objects", len(objects))
	before := m.objects
	m.objects = map[string]string{}
	for _, object := range objects {
		m.objects[object.Name] = object.ResourceVersion
		delete(before, object.Name)
	}
	m.Teller.Tell("Replace by %v, which takes away %v", names(m.objects), names(before))
	return nil
}

func names(objects map[string]string) []string { return slices.Sorted(maps.Keys(objects)) }

// onTransition reports the cause: the reflector's error, or without an error the next state.
func (m *mirror) onTransition(from, to reflector.State) {
	usual := map[reflector.State]string{reflector.Idle: "Run", reflector.Stopped: "Run", reflector.BackingOff: "the time is up",
		reflector.Connecting: "the server answered", reflector.Watching: "the stream ended", reflector.ListingStreaming: "refused"}
	why := cmp.Or(m.why, usual[from])
	m.why = ""
	if to != reflector.Stopped { // the story does not wait for that line
		m.Teller.Tell("%-16s → %-16s  %s", from, to, why)
	}
}

// expect prints what happens up to a line, and compares the sink with the server.
func (m *mirror) expect(ctx context.Context, line string) {
	m.Until(line)
	server := m.Versions(ctx, "mirror")
	m.Saw("the sink has %v, the server %v, in the same versions: %t", names(m.objects), names(server), maps.Equal(m.objects, server))
}

// faults end a watch, and do something before the next one begins.
func faults(ctx context.Context, m *mirror) {
	drop, tear := (*apiserver.Faults).DropWatches, (*apiserver.Faults).BreakWatches
	change := func(*apiserver.Faults) { m.Put(ctx, "mirror", "c") }
	for _, step := range []struct {
		title, did, until, why string
		end                    func(*apiserver.Faults) int
		meanwhile              func(*apiserver.Faults)
	}{
		{"A watch that ends", "the server ended the watch; changed c", "Update c",
			"the next watch starts at the last version, so it tells what happened in between: no list is needed", drop, change},
		{"A watch that breaks", "tore the connection; changed c", "Update c", "an error this time; the same answer to it", tear, change},
		{"429, with Retry-After: 1", "the watch ended, and the next is refused; changed c", "Update c",
			"the server's wait counts if it is longer than one's own; and then a watch again: a list would cost a busy server more",
			drop, func(faults *apiserver.Faults) {
				faults.FailNext(1, apiserver.Failure{Verb: "watch", Code: 429, RetryAfter: time.Second, Message: "too many requests"})
				change(faults)
			}},
		{"Compaction: 410", "the watch ended; deleted c, created e; the server forgot how it came to that", "ListingStreaming → Watching",
			"no watch will ever tell that c was deleted; again it is the list that lacks it",
			drop, func(faults *apiserver.Faults) {
				m.Remove(ctx, "c")
				m.Put(ctx, "mirror", "e")
				faults.Compact()
			}},
		{"A server without streaming lists", "the watch was told 410, and streaming lists are refused", "Connecting       → Watching",
			"a list in pages, and a watch from its version on. After an hour streaming lists are tried again",
			(*apiserver.Faults).ExpireWatches, func(faults *apiserver.Faults) { faults.RefuseStreamingLists(true) }},
	} {
		if faults := m.FaultStep(step.title); faults != nil {
			start := time.Now()
			m.EndWatches(ctx, func() int { return step.end(faults) })
			step.meanwhile(faults)
			m.Did("%s", step.did)
			m.expect(ctx, step.until)
			m.Saw("that took %s", time.Since(start).Round(time.Millisecond))
			m.Why("%s", step.why)
		}
	}
}
