package lens

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

const sessionFormat = "lens session 1"

// Session is what was done in a world, to be done again in another.
type Session struct {
	Format  string   `json:"glasswatch"`
	Options Options  `json:"options"`
	Actions []Action `json:"actions"`
}

// Action is one of them.
type Action struct {
	Micros int64           `json:"us"`
	Act    string          `json:"act"`
	Body   json.RawMessage `json:"body"`
}

// Session returns what was done so far.
func (w *World) Session() Session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Session{Format: sessionFormat, Options: w.options, Actions: slices.Clone(w.actions)}
}

// Do does an act that is in the session. The others change when things happen, not what.
func (w *World) Do(ctx context.Context, name string, body []byte) (any, error) {
	w.acting.Lock()
	defer w.acting.Unlock()
	if json.Valid(body) {
		w.mu.Lock()
		w.actions = append(w.actions, Action{time.Since(w.began).Microseconds(), name, slices.Clone(body)})
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
		return map[string][]Ref{"applied": applied}, err
	}),
	"delete": change(func(ctx context.Context, w *World, ref Ref) (any, error) { return nil, w.acts.remove(ctx, ref) }),
	"storm":  change(func(_ context.Context, w *World, s Storm) (any, error) { return nil, w.acts.storm(s) }),
	"fault":  change(func(_ context.Context, w *World, f Fault) (any, error) { return nil, w.setFault(f) }),
}

// change reads the body.
func change[T any](
	do func(context.Context, *World, T) (any, error),
) func(context.Context, *World, []byte) (any, error) {
	return func(ctx context.Context, w *World, text []byte) (any, error) {
		body, err := read[T](text)
		if err != nil {
			return nil, err
		}
		return do(ctx, w, body)
	}
}
