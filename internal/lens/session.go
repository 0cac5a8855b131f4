package lens

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"glasswatch/internal/lens/look"
)

const sessionFormat = "lens session 1"

// Session is what was done in a world, to be done again in another.
type Session struct {
	Format  string      `json:"glasswatch"`
	Options Options     `json:"options"`
	Actions []Action    `json:"actions"`
	End     look.Moment `json:"end"` // when the session was asked for
	// Recorded, if any, is shown instead: what another program did, such as one under controllertest.
	Recorded []look.Event `json:"recorded,omitempty"`
}

// Action is one of them.
type Action struct {
	look.Moment
	Act  string          `json:"act"`
	Body json.RawMessage `json:"body"`
}

// act is something that can be done. The result is for JSON, or nil.
type act func(ctx context.Context, body []byte) (any, error)

// reading is an act that reads its body.
func reading[T any](do func(context.Context, T) (any, error)) act {
	return func(ctx context.Context, text []byte) (any, error) {
		body, err := look.Read[T](text)
		if err != nil {
			return nil, err
		}
		return do(ctx, body)
	}
}

// changes are the acts that are in a session. The others change when things happen, not what.
var changes = map[string]func(w *World) act{
	"apply":  func(w *World) act { return reading(w.acts.apply) },
	"delete": func(w *World) act { return reading(w.acts.remove) },
	"storm":  func(w *World) act { return reading(w.acts.storm) },
	"fault":  func(w *World) act { return reading(w.setFault) },
}

// Do does one of them.
func (w *World) Do(ctx context.Context, name string, body []byte) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.recorded != nil {
		return nil, errRecorded
	}
	was := w.actions
	if json.Valid(body) {
		w.actions = append(w.actions, Action{w.hub.Moment(), name, slices.Clone(body)})
	}
	result, err := changes[name](w)(context.WithoutCancel(ctx), body)
	if errors.Is(err, look.ErrBadBody) {
		w.actions = was // nothing was done
	}
	return result, err
}

// ReadSession reads a session that can be played.
func ReadSession(text []byte) (Session, error) {
	s, err := look.Read[Session](text)
	if err == nil && s.Format != sessionFormat {
		err = fmt.Errorf("%w: want %q, got %q", look.ErrBadBody, sessionFormat, s.Format)
	}
	for _, a := range s.Actions {
		if changes[a.Act] == nil && err == nil {
			err = fmt.Errorf("%w: act %q in a session", look.ErrUnknown, a.Act)
		}
	}
	if len(s.Actions) > 0 && len(s.Recorded) > 0 && err == nil {
		err = fmt.Errorf("%w: a session has actions or what was recorded, not both", look.ErrBadBody)
	}
	for n, e := range s.Recorded {
		if !slices.Contains(look.Boundaries, e.At) && err == nil {
			err = fmt.Errorf("%w: event %d was recorded at %q, want one of %v", look.ErrBadBody, n+1, e.At, look.Boundaries)
		}
	}
	return s, err
}

// Session returns what was done so far.
func (w *World) Session() Session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Session{sessionFormat, w.options, slices.Clone(w.actions), w.hub.Moment(), w.recorded}
}

var errRecorded = errors.New("this world is a recording: nothing runs in it")

// show shows what was recorded. Nothing can be done here but to begin another world.
func (w *World) show(events []look.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recorded = events
	_ = w.listener.Close() // whoever asks the server is refused
	w.view.Informers, w.view.Workers, w.view.Add = map[string]look.Informer{}, 0, nil
	w.view.Can = []string{"reset", "replay", "clear"} // with which lessons begin
	w.hub.Begin(w.view)
	w.hub.Show(events)
}

// play does what a session says.
func (w *World) play(s Session) {
	for _, a := range s.Actions {
		if !w.await(a.Moment) {
			return
		}
		_, _ = w.Do(w.ctx, a.Act, a.Body) // it may fail, as it did then
	}
}

const (
	// longestSilence and longestWait are how many milliseconds a moment is waited for after its time: without an observation of an
	// object, and in all. So a slow machine has all the time that it needs. If less is observed by then, the sessions differ.
	longestSilence = 10_000
	longestWait    = 60_000
	// momentSpread keeps two actions from having the same fraction of a millisecond in virtual time. What follows the
	// first after some milliseconds then never comes at the very moment of the second.
	momentSpread = 7_001 * time.Nanosecond
)

// await waits until as much was observed as at a moment. It returns false if the world ended before. In virtual time
// nothing else happens when it returns: a sleep ends when all goroutines wait.
func (w *World) await(m look.Moment) bool {
	silent, late := 0, 0
	for last := w.hub.Moment(); w.ctx.Err() == nil; {
		now := w.hub.Moment()
		isPatient := silent < longestSilence && late < longestWait
		if w.reached(now, m, isPatient) {
			break
		}
		silent++
		if !maps.Equal(now.After, last.After) || now.Micros < m.Micros {
			silent = 0
		}
		if now.Micros >= m.Micros {
			late++
		}
		last = now
		time.Sleep(time.Millisecond)
	}
	time.Sleep(momentSpread)
	return w.ctx.Err() == nil
}

// reached reports whether as much was observed now as at a moment, or one is not patient any more. In real time it waits for the time as
// well, for people who look on. In virtual time that would be too late: what takes no time there took some when the session was made,
// and a key that is retried would be retried more often meanwhile.
func (w *World) reached(now, m look.Moment, isPatient bool) bool {
	for at, n := range m.After {
		if now.After[at] < n && isPatient {
			return false
		}
	}
	return now.Micros >= m.Micros || w.virtual && m.After != nil
}
