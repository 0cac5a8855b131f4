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

// inSession are the acts that change what happens. The others change when.
var inSession = map[string]bool{"apply": true, "delete": true, "storm": true, "fault": true}

// Do does what POST /act/NAME does. The result is for JSON, or nil.
func (l *Lens) Do(ctx context.Context, name string, body []byte) (any, error) {
	if inSession[name] || name == "reset" {
		l.acting.Lock()
		defer l.acting.Unlock()
	}
	if inSession[name] && json.Valid(body) {
		l.mu.Lock()
		us := l.hub.micros()
		l.session.Actions = append(l.session.Actions, Action{us, name, slices.Clone(body)})
		l.mu.Unlock()
	}
	switch name {
	case "apply", "delete", "storm", "fault", "reset":
		return l.change(ctx, name, body)
	default:
		return l.hub.do(name, body)
	}
}

// change does what changes the world.
func (l *Lens) change(ctx context.Context, name string, body []byte) (any, error) {
	world, _ := l.World()
	switch name {
	case "apply":
		b, err := read[struct {
			YAML string `json:"yaml"`
		}](body)
		if err != nil {
			return nil, err
		}
		applied, err := world.acts.apply(ctx, b.YAML)
		return map[string][]Ref{"applied": applied}, err
	case "delete":
		ref, err := read[Ref](body)
		if err != nil {
			return nil, err
		}
		return nil, world.acts.remove(ctx, ref)
	case "storm":
		storm, err := read[Storm](body)
		if err != nil {
			return nil, err
		}
		return nil, world.acts.storm(storm)
	case "fault":
		fault, err := read[Fault](body)
		if err != nil {
			return nil, err
		}
		return nil, world.SetFault(fault)
	default:
		options, err := read[Options](body)
		if err != nil {
			return nil, err
		}
		return nil, l.begin(options)
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
	case name == "breakpoint" && b.Breakpoint.isZero():
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
