package lens

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
func (l *Lens) Session() Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.session
	s.Actions = slices.Clone(s.Actions)
	return s
}

// Do does what POST /act/NAME does. The result is for JSON, or nil.
func (l *Lens) Do(ctx context.Context, name string, body []byte) (any, error) {
	change, recorded := changes[name]
	if recorded || name == "reset" {
		l.acting.Lock()
		defer l.acting.Unlock()
	}
	if recorded && json.Valid(body) {
		l.mu.Lock()
		us := l.hub.micros()
		l.session.Actions = append(l.session.Actions, Action{us, name, slices.Clone(body)})
		l.mu.Unlock()
	}
	if recorded {
		world, _ := l.World()
		return change(ctx, world, body)
	}
	if name != "reset" {
		return l.hub.do(name, body)
	}
	options, err := read[Options](body)
	if err == nil {
		err = l.begin(options)
	}
	return nil, err
}

// changes are the acts that are in a session. The others change when things happen, not what.
var changes = map[string]func(ctx context.Context, w *World, body []byte) (any, error){
	"apply": change(func(ctx context.Context, w *World, body struct {
		YAML string `json:"yaml"`
	}) (any, error) {
		applied, err := w.acts.apply(ctx, body.YAML)
		return map[string][]Ref{"applied": applied}, err
	}),
	"delete": change(func(ctx context.Context, w *World, ref Ref) (any, error) { return nil, w.acts.remove(ctx, ref) }),
	"storm":  change(func(_ context.Context, w *World, s Storm) (any, error) { return nil, w.acts.storm(s) }),
	"fault":  change(func(_ context.Context, w *World, f Fault) (any, error) { return nil, w.SetFault(f) }),
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

// do does what concerns the gate.
func (h *Hub) do(name string, body []byte) (any, error) {
	b, err := read[struct {
		Breakpoint
		Seq uint64 `json:"seq"`
		On  bool   `json:"on"`
	}](body)
	switch {
	case err != nil:
		return nil, err
	case name == "pause":
		h.Pause(b.Key)
	case name == "step":
		return map[string]*Parked{"released": h.Step(b.Seq)}, nil
	case name == "run":
		h.Run()
	case name == "mute":
		h.Mute(b.On)
	case name == "breakpoint" && b.Breakpoint == (Breakpoint{}):
		return nil, fmt.Errorf("%w: a breakpoint for everything is a pause", errBadBody)
	case name == "breakpoint":
		return map[string]int{"id": h.AddBreakpoint(b.Breakpoint)}, nil
	case name == "clear" && !h.ClearBreakpoint(b.ID):
		return nil, fmt.Errorf("%w breakpoint %d", errUnknown, b.ID)
	case name != "clear":
		return nil, fmt.Errorf("%w act %q", errUnknown, name)
	}
	return nil, nil
}
