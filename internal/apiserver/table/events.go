package table

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	eventDocs    = corev1.Event{}.SwaggerDoc()
	eventColumns = []metav1.TableColumnDefinition{
		column("Last Seen", eventDocs["lastTimestamp"]),
		column("Type", eventDocs["type"]),
		column("Reason", eventDocs["reason"]),
		column("Object", eventDocs["involvedObject"]),
		wide("Subobject", eventDocs["involvedObject.fieldPath"]),
		wide("Source", eventDocs["source"]),
		column("Message", eventDocs["message"]),
		wide("First Seen", eventDocs["firstTimestamp"]),
		wide("Count", eventDocs["count"]),
		{Name: "Name", Type: "string", Format: "name", Priority: 1, Description: nameColumn.Description},
	}
)

func coreEventCells(e *corev1.Event) []any {
	first, last, count := since(e.FirstTimestamp), since(e.LastTimestamp), e.Count
	if e.FirstTimestamp.IsZero() {
		first = sinceMicro(e.EventTime)
	}
	if e.LastTimestamp.IsZero() {
		last = first
	}
	switch {
	case e.Series != nil:
		last, count = sinceMicro(e.Series.LastObservedTime), e.Series.Count
	case count == 0: // an event of the newer API that occurred once has no count
		count = 1
	}
	source := e.Source
	if source.Component == "" {
		source = corev1.EventSource{Component: e.ReportingController, Host: e.ReportingInstance}
	}
	return []any{last, e.Type, e.Reason, target(e.InvolvedObject), e.InvolvedObject.FieldPath, eventSource(source),
		strings.TrimSpace(e.Message), first, int64(count), e.Name}
}

// eventCells prints an Event of events.k8s.io as the same Event of the core group.
func eventCells(e *eventsv1.Event) []any {
	core := &corev1.Event{
		ObjectMeta: e.ObjectMeta, InvolvedObject: e.Regarding, Reason: e.Reason, Message: e.Note, Type: e.Type, EventTime: e.EventTime,
		Source: e.DeprecatedSource, FirstTimestamp: e.DeprecatedFirstTimestamp, LastTimestamp: e.DeprecatedLastTimestamp,
		Count: e.DeprecatedCount, ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance,
	}
	if e.Series != nil {
		core.Series = &corev1.EventSeries{Count: e.Series.Count, LastObservedTime: e.Series.LastObservedTime}
	}
	return coreEventCells(core)
}

func target(ref corev1.ObjectReference) string {
	kind := strings.ToLower(ref.Kind)
	if ref.Name == "" {
		return kind
	}
	return kind + "/" + ref.Name
}

func eventSource(s corev1.EventSource) string {
	if s.Host == "" {
		return s.Component
	}
	return s.Component + ", " + s.Host
}
