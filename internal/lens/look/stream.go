package look

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"time"
)

const (
	tickEvery = 50 * time.Millisecond
	keepAlive = time.Second
)

// stream sends a snapshot for each world, and ticks.
func (h *Hub) stream(w http.ResponseWriter, r *http.Request) {
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
		event, told, message := "tick", News{}, any(nil)
		if view, world := h.now(); world == number {
			told = view.news(h, seq, math.MaxUint64, follow)
			message = told
		} else {
			first := h.Snapshot()
			event, number, told, message = "snapshot", first.World, first.News, first
		}
		seq = told.Seq
		text, _ := json.Marshal(message) // numbers and texts can be written
		if !send("event: %s\nid: %d\ndata: %s", event, seq, text) || !Pause(r.Context(), tickEvery, nil) {
			return
		}
		if seq != before {
			continue // once more: some of the state follows just after the last event
		}
		for !Pause(r.Context(), keepAlive, changes) && !h.saysAnother(told.State) {
			if r.Context().Err() != nil || !send(": still here") {
				return
			}
		}
	}
}

// saysAnother reports whether the layers are in another state, which they may be without an event. While it is muted nobody is
// to see that.
func (h *Hub) saysAnother(was ViewState) bool {
	view, _ := h.now()
	return !h.muted.Load() && !reflect.DeepEqual(view.news(h, 0, 0, nil).State, was)
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
