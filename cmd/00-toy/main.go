package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/demo"
	"glasswatch/internal/apiserver"
)

func main() { demo.Main(story) }

var story = demo.Story{Name: "00-toy", Title: "A whole informer in one file", Layer: "cmd/00-toy/toy.go",
	Next: "docs/learn/tour.md, chapter 0", Tell: demo.Steps(tell)}

func tell(ctx context.Context, d *demo.Demo) {
	s := start(ctx, d)
	s.Step("A list, and then a watch")
	s.Put(ctx, "original", "a")
	s.Did("created the ConfigMap a, and started the toy")
	s.Go(ctx, s.toy.run)
	s.expect("informer: LISTED a", "a: copy created", "informer: ADDED a-copy", "a: nothing to do")
	s.Why("list → store → handler → queue → reconcile. The copy comes back by the watch, for the selector has it, too")
	s.compare(ctx)

	s.Step("Three more changes, one more reconcile")
	s.Put(ctx, "original", "a")
	s.Did("changed a. A worker has it, and is held back before it reports")
	s.expect("informer: MODIFIED a", "informer: MODIFIED a-copy")
	s.Put(ctx, "original", "a", "a", "a")
	s.Did("changed a three times more meanwhile")
	s.expect("informer: MODIFIED a", "informer: MODIFIED a", "informer: MODIFIED a")
	s.Did("let the worker go on")
	s.expect("a: copy corrected", "a: copy corrected", "informer: MODIFIED a-copy", "a: nothing to do")
	s.Saw("reconciles that corrected the copy: 1 for the first change, %d more for the other three", s.corrections.Load()-1)
	s.Why("a name waits while a worker has it, and waits once. The queue has names, not changes: the newest state counts")
	s.compare(ctx)

	s.Step("Somebody else deletes a copy")
	s.Put(ctx, "original", "b")
	s.Did("created b, and later deleted its copy")
	s.expect("informer: ADDED b", "b: copy created", "informer: ADDED b-copy", "b: nothing to do")
	s.Remove(ctx, "b-copy")
	s.expect("informer: DELETED b-copy", "b: copy created", "informer: ADDED b-copy", "b: nothing to do")
	s.Why("the handler adds the original's name for its copy, too")
	faults(ctx, s)
}

func faults(ctx context.Context, s *stage) {
	if faults := s.FaultStep("A write that fails"); faults != nil {
		faults.FailNext(2, apiserver.Failure{Verb: "create", Resource: "configmaps", Code: 500})
		s.Remove(ctx, "b-copy")
		s.Did("made the server refuse two creations; deleted b-copy")
		s.expect("informer: DELETED b-copy", "b: copy not created", "b: copy not created", "b: copy created")
		s.expect("informer: ADDED b-copy", "b: nothing to do")
		s.Why("each attempt comes later than the one before, and other names do not wait for it")
	}
	if faults := s.FaultStep("A watch that is cut"); faults != nil {
		s.EndWatches(ctx, faults.BreakWatches)
		s.Put(ctx, "original", "a")
		s.Did("tore the connection; changed a while there is no watch")
		s.expect("informer: watch: unexpected EOF", "informer: MODIFIED a", "a: copy corrected")
		s.expect("informer: MODIFIED a-copy", "a: nothing to do")
		s.Why("the next watch starts at the last resourceVersion, so it tells what happened in between. No list is needed")
	}
	if faults := s.FaultStep("410: the server has forgotten what happened"); faults != nil {
		s.EndWatches(ctx, faults.DropWatches)
		s.Remove(ctx, "b")
		faults.Compact()
		s.Did("ended the watch; deleted b; and the server dropped its history")
		s.expect("informer: watch: EOF", "informer: watch: 410 Gone", "informer: listed 3")
		s.expect("informer: LISTED a", "a: nothing to do", "informer: LISTED a-copy", "a: nothing to do")
		s.expect("informer: LISTED b-copy", "b: nothing to do", "informer: the list lacks b")
		s.expect("informer: DELETED b", "b: copy deleted", "informer: DELETED b-copy", "b: nothing to do")
		s.Why("no event tells that b is gone. The list lacks it, so a DELETED is made from its last known state: a tombstone")
		s.compare(ctx)
	}
}

// stage is the toy in the story. Each of its goroutines waits until the story has printed what it reports.
type stage struct {
	*demo.Demo
	toy     *toy
	tellers map[string]*demo.Teller // by the first word of a line

	corrections atomic.Int64 // of copies
}

func start(ctx context.Context, d *demo.Demo) *stage {
	base, _, err := rest.DefaultServerUrlFor(d.Config)
	demo.Check(err)
	client := demo.Must(rest.HTTPClientFor(d.Config))
	client.Timeout = 6 * time.Minute
	d.Cleanup(func(context.Context) error { client.CloseIdleConnections(); return nil })
	s := &stage{Demo: d, tellers: map[string]*demo.Teller{}}
	for _, who := range []string{"informer", "a", "b"} {
		s.tellers[who] = d.Teller(ctx)
	}
	url := base.JoinPath("api/v1/namespaces", d.Namespace, "configmaps").String()
	s.toy = newToy(client, url, func(who, format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		if line == "copy corrected" {
			s.corrections.Add(1)
		}
		s.tellers[who].Tell("%s: %s", who, line)
	})
	return s
}

// expect prints what the toy reports, up to each of these lines.
func (s *stage) expect(lines ...string) {
	for _, line := range lines {
		who, _, _ := strings.Cut(line, ":")
		s.tellers[who].Until(line)
	}
}

// compare prints what the server has.
func (s *stage) compare(ctx context.Context) {
	names := func(group string) []string { return slices.Sorted(maps.Keys(s.Versions(ctx, group))) }
	s.Saw("the server has the originals %v and the copies %v", names("original"), names("copy"))
}
