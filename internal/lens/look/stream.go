package look

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	tickEvery = 50 * time.Millisecond
	keepAlive = 15 * time.Second
)

// stream sends a snapshot for each world, and ticks.
func (h *Hub) stream(now func() *View, w http.ResponseWriter, r *http.Request) {
	follow := map[string]bool{}
	for _, key := range r.URL.Query()["follow"] {
		follow[key] = true
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(format string, args ...any) bool {
		_, err := fmt.Fprintf(w, format+"\n\n", args...)
		return err == nil && http.NewResponseController(w).Flush() == nil
	}
	number, seq := 0, uint64(0)
	for {
		changes, before := h.Changes(), seq
		event, text := "tick", []byte(nil)
		h.bubble.Inside(func() {
			view := now()
			if view.Number != number {
				first := view.snapshot(h)
				event, number, seq = "snapshot", view.Number, first.Seq
				text, _ = json.Marshal(first) // numbers and texts can be written
				return
			}
			next := view.tick(h, seq, follow)
			seq = next.Seq
			text, _ = json.Marshal(next)
		})
		if !send("event: %s\nid: %d\ndata: %s", event, seq, text) || !Pause(r.Context(), tickEvery, nil) {
			return
		}
		if seq != before {
			continue // once more: some of the state follows just after the last event
		}
		for !Pause(r.Context(), keepAlive, changes) {
			if r.Context().Err() != nil || !send(": still here") {
				return
			}
		}
	}
}

// Pause waits for d or until woken, if wake is not nil. It reports whether that has come to pass.
func Pause(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	select {
	case <-time.After(d):
		return wake == nil
	case <-wake:
		return true
	case <-ctx.Done():
		return false
	}
}
