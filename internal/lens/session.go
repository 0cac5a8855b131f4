package lens

import (
	"context"
	"encoding/json"
	"fmt"
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
}

// Action is one of them.
type Action struct {
	look.Moment
	Act  string          `json:"act"`
	Body json.RawMessage `json:"body"`
}

// momentPatience is how long after its time a moment is waited for. If less is observed by then, the sessions differ.
const momentPatience = 10 * time.Second

// momentSpread keeps two actions from having the same fraction of a millisecond in virtual time. What follows the first
// after some milliseconds then never comes at the very moment of the second.
const momentSpread = 7_001 * time.Nanosecond

// reached reports whether as much was observed as at a moment. In real time it waits for the time as well, for people
// who look on. In virtual time that would be too late: what takes no time there took some when the session was made,
// and a key that is retried would be retried more often meanwhile.
func (w *World) reached(m look.Moment) bool {
	now := w.hub.Moment()
	late := time.Duration(now.Micros-m.Micros) * time.Microsecond
	for at, n := range m.After {
		if now.After[at] < n && late < momentPatience {
			return false
		}
	}
	return late >= 0 || w.virtual && m.After != nil
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
	return s, err
}

// Session returns what was done so far.
func (w *World) Session() Session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Session{sessionFormat, w.options, slices.Clone(w.actions), w.hub.Moment()}
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

// await returns false if the world ended before that moment. In virtual time nothing else happens when it returns: a
// sleep ends when all goroutines wait.
func (w *World) await(m look.Moment) bool {
	for w.ctx.Err() == nil && !w.reached(m) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(momentSpread)
	return w.ctx.Err() == nil
}

// Do does an act that is in the session. The others change when things happen, not what.
func (w *World) Do(ctx context.Context, name string, body []byte) (any, error) {
	w.acting.Lock()
	defer w.acting.Unlock()
	if json.Valid(body) {
		w.mu.Lock()
		w.actions = append(w.actions, Action{w.hub.Moment(), name, slices.Clone(body)})
		w.mu.Unlock()
	}
	return changes[name](context.WithoutCancel(ctx), w, body)
}

// changes are the acts that are in a session.
var changes = map[string]func(ctx context.Context, w *World, body []byte) (any, error){
	"apply": change(func(ctx context.Context, w *World, body struct {
		YAML string `json:"yaml"`
	}) (any, error) {
		applied, err := w.acts.apply(ctx, body.YAML)
		return map[string][]look.Ref{"applied": applied}, err
	}),
	"delete": change(func(ctx context.Context, w *World, ref look.Ref) (any, error) { return nil, w.acts.remove(ctx, ref) }),
	"storm":  change(func(_ context.Context, w *World, s Storm) (any, error) { return nil, w.acts.storm(s) }),
	"fault":  change(func(_ context.Context, w *World, f look.Fault) (any, error) { return nil, w.setFault(f) }),
}

// change reads the body.
func change[T any](
	do func(context.Context, *World, T) (any, error),
) func(context.Context, *World, []byte) (any, error) {
	return func(ctx context.Context, w *World, text []byte) (any, error) {
		body, err := look.Read[T](text)
		if err != nil {
			return nil, err
		}
		return do(ctx, w, body)
	}
}
