package lens

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// snapshot is what comes first, before ticks.
type snapshot struct {
	News
	World    int                 `json:"world"`
	Options  Options             `json:"options"`
	Contents map[string]Contents `json:"contents"`
}

const (
	tickEvery     = 50 * time.Millisecond
	keepAlive     = 15 * time.Second
	snapshotFirst = 200 // events
)

func (l *Lens) tick(seq uint64, follow map[string]bool) News {
	world, _ := l.World()
	n := l.hub.since(seq, follow)
	n.Faults, n.State = world.backend.faults.all(), world.State()
	if world.beside != nil {
		counts := world.beside.Counts()
		n.Beside = &counts
	}
	return n
}

func (l *Lens) snapshot() snapshot {
	world, n := l.World()
	contents := map[string]Contents{}
	for name, in := range world.informers {
		contents[name] = in.contents()
	}
	s := snapshot{l.tick(0, nil), n, world.options, contents}
	events, _ := l.hub.all()
	for len(events) > 0 && events[len(events)-1].Seq > s.Seq {
		events = events[:len(events)-1] // it came meanwhile
	}
	s.Events, s.LeftOut = events[max(0, len(events)-snapshotFirst):], 0
	return s
}

// stream sends a snapshot for each world, and ticks.
func (l *Lens) stream(w http.ResponseWriter, r *http.Request) {
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
		changes, before := l.hub.changes(), seq
		event, text := "tick", []byte(nil)
		l.inside(func() {
			if _, now := l.World(); now != number {
				first := l.snapshot()
				event, number, seq = "snapshot", now, first.Seq
				text, _ = json.Marshal(first) // numbers and texts can be written
				return
			}
			next := l.tick(seq, follow)
			seq = next.Seq
			text, _ = json.Marshal(next)
		})
		if !send("event: %s\nid: %d\ndata: %s", event, seq, text) || !pause(r.Context(), tickEvery, nil) {
			return
		}
		if seq != before {
			continue // once more: some of the state follows just after the last event
		}
		for !pause(r.Context(), keepAlive, changes) {
			if r.Context().Err() != nil || !send(": still here") {
				return
			}
		}
	}
}

// pause waits for d or until woken, if wake is not nil. It reports whether that has come to pass.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	select {
	case <-time.After(d):
		return wake == nil
	case <-wake:
		return true
	case <-ctx.Done():
		return false
	}
}
