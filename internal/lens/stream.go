package lens

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// tick is what comes again and again.
type tick struct {
	News
	Faults map[string]Fault `json:"faults"`
	State  WorldState       `json:"state"`
}

// snapshot is what comes first.
type snapshot struct {
	tick
	World    int                 `json:"world"`
	Options  Options             `json:"options"`
	Contents map[string]Contents `json:"contents"`
}

const (
	tickEvery     = 50 * time.Millisecond
	keepAlive     = 15 * time.Second
	snapshotFirst = 200 // events
)

func (l *Lens) tick(seq uint64, follow map[string]bool) tick {
	world, _ := l.World()
	return tick{News: l.hub.since(seq, follow), Faults: world.backend.faults.all(), State: world.State()}
}

func (l *Lens) snapshot() (s snapshot, seq uint64) {
	world, n := l.World()
	last, seq := l.hub.last(snapshotFirst)
	s = snapshot{tick: l.tick(seq, nil), World: n, Options: world.options}
	s.Contents = map[string]Contents{}
	for name, in := range world.informers {
		s.Contents[name] = in.contents()
	}
	s.Events = append(last, s.Events...)
	return s, s.Seq
}

func (l *Lens) stream(w http.ResponseWriter, r *http.Request) {
	follow := map[string]bool{}
	for _, key := range r.URL.Query()["follow"] {
		follow[key] = true
	}
	wake, end := l.hub.subscribe()
	defer end()
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	send := func(event string, seq uint64, data any) bool {
		text, err := json.Marshal(data)
		if err == nil {
			_, err = fmt.Fprintf(w, "event: %s\nid: %d\ndata: %s\n\n", event, seq, text)
		}
		return err == nil && control.Flush() == nil
	}
	number, seq := 0, uint64(0)
	for {
		before := seq
		if _, now := l.World(); now != number {
			number = now
			first, last := l.snapshot()
			seq = last
			if !send("snapshot", seq, first) {
				return
			}
		} else {
			next := l.tick(seq, follow)
			seq = next.Seq
			if !send("tick", seq, next) {
				return
			}
		}
		if !pause(r.Context(), tickEvery, nil) {
			return
		}
		if seq != before {
			continue // once more: some of the state follows just after the last event
		}
		for !pause(r.Context(), keepAlive, wake) {
			_, err := io.WriteString(w, ": still here\n\n")
			if err != nil || control.Flush() != nil || r.Context().Err() != nil {
				return
			}
		}
	}
}

// pause waits for d or until woken, if wake is not nil. It reports whether that has come to pass.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return wake == nil
	case <-wake:
		return true
	case <-ctx.Done():
		return false
	}
}
