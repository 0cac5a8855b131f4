package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"glasswatch/cmd/internal/demo"
)

// events has a Foo synced until it was synced seven times. In virtual time that is exact: nothing is under way whenever the
// demo looks. Otherwise two syncs may end between two looks, and it was eight times.
func (s *show) events(ctx context.Context) {
	s.Step("Equal Events are counted up: the end of kubectl describe foo calm")
	s.create(ctx, "calm", "calm", 1)
	s.follows(ctx, "calm", 1)
	s.Saw("each sync so far has recorded an Event; now it is changed until there are seven")
	for seen := int32(0); seen < 7; {
		demo.Until(ctx, "another sync", func() bool { return s.find(ctx, "calm", reasonSynced).Count > seen })
		seen = s.find(ctx, "calm", reasonSynced).Count
		if seen < 7 {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"look":"again %d"}}}`, seen)
			demo.Must(s.foos.Patch(ctx, "calm", types.MergePatchType, patch, metav1.PatchOptions{}))
		}
	}
	s.Table([]string{"Type", "Reason", "Age", "From", "Message"}, describe(s.find(ctx, "calm", reasonSynced)))
}

// find returns an Event of a Foo; the zero Event if there is none.
func (s *show) find(ctx context.Context, foo, reason string) corev1.Event {
	of := metav1.ListOptions{FieldSelector: "involvedObject.kind=Foo,involvedObject.name=" + foo + ",reason=" + reason}
	for _, event := range demo.Must(s.Client.CoreV1().Events(s.Namespace).List(ctx, of)).Items {
		return event
	}
	return corev1.Event{}
}

// describe is a line of kubectl describe.
func describe(e corev1.Event) []string {
	age := duration.HumanDuration(time.Since(e.LastTimestamp.Time))
	if e.Count > 1 {
		age = fmt.Sprintf("%s (x%d over %s)", age, e.Count, duration.HumanDuration(time.Since(e.FirstTimestamp.Time)))
	}
	return []string{e.Type, e.Reason, age, e.Source.Component, e.Message}
}

// told waits for an Event of a Foo, and prints it.
func (s *show) told(ctx context.Context, foo, reason string) {
	demo.Until(ctx, "an Event "+reason+" of Foo "+foo, func() bool { return s.find(ctx, foo, reason).Count > 0 })
	event := s.find(ctx, foo, reason)
	s.Saw("Event of Foo %s: %s %s %q", foo, event.Type, event.Reason, event.Message)
}

// errorLog keeps the lines of errors. Its methods are safe for concurrent use.
type errorLog struct {
	mu    sync.Mutex
	lines []string
}

// Write gets one line at a time.
func (l *errorLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.HasPrefix(line, []byte("E")) {
		_, text, _ := strings.Cut(string(line), "] ")
		l.lines = append(l.lines, strings.TrimSpace(text))
	}
	return len(line), nil
}

// said waits for a line of an error about a Foo, and prints it.
func (s *show) said(ctx context.Context, text, foo string) {
	demo.Until(ctx, "a line of the log: "+text, func() bool {
		s.log.mu.Lock()
		defer s.log.mu.Unlock()
		for _, line := range s.log.lines {
			if strings.Contains(line, text) && strings.Contains(line, "/"+foo+`"`) {
				s.Saw("%s", line)
				return true
			}
		}
		return false
	})
}
