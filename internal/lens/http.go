package lens

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
)

//go:embed page
var page embed.FS

// Lens serves a world, and what can be done with it.
type Lens struct {
	hub    *Hub
	bubble *Bubble // that the worlds are in, or nil

	resetting sync.Mutex // held while one world gives way to another

	mu     sync.Mutex // protects what follows
	world  *World
	worlds int // how many there were
}

// New starts a world. Close it.
func New(options Options) (*Lens, error) { return NewIn(nil, Session{Options: options}) }

// NewIn starts a world in a bubble, if that is not nil, and does there what a session says.
func NewIn(bubble *Bubble, s Session) (*Lens, error) {
	l := &Lens{hub: NewHub(), bubble: bubble}
	l.hub.bubble, l.hub.virtual = bubble, bubble != nil
	return l, l.begin(s)
}

func (l *Lens) inside(f func()) { l.bubble.inside(f) }

// begin closes the world that there is, and starts another.
func (l *Lens) begin(s Session) (err error) {
	if err := s.Options.validate(); err != nil {
		return err
	}
	l.resetting.Lock()
	defer l.resetting.Unlock()
	l.Close()
	var world *World
	l.inside(func() {
		l.hub.Restart()
		world, err = NewWorld(l.hub, s)
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.world = world
	l.worlds++
	l.hub.wake()
	return nil
}

// Close ends the world. Streams end with their requests.
func (l *Lens) Close() {
	if world, _ := l.World(); world != nil {
		l.inside(world.Close)
	}
}

// World returns the one that is looked at, and its number.
func (l *Lens) World() (*World, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.world, l.worlds
}

// Handler serves what PROTOCOL.md says, without a guard: see [Guard].
func (l *Lens) Handler() http.Handler {
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /stream", l.stream)
	mux.HandleFunc("GET /api/session.go", func(w http.ResponseWriter, r *http.Request) {
		session := l.Session()
		all, err := l.Observed()
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		name, text, err := GoTest(session, all)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, digits, _ := strings.Cut(name, "_")
		w.Header().Set("Content-Disposition", `attachment; filename="session_`+digits+`_test.go"`)
		_, _ = w.Write(text)
	})
	for path, ask := range map[string]func(r *http.Request) (any, error){
		"GET /api/snapshot": func(*http.Request) (s any, err error) {
			l.inside(func() { s = l.snapshot() })
			return s, nil
		},
		"GET /api/journey": func(r *http.Request) (any, error) {
			events, _ := l.hub.all()
			return map[string]any{"events": explain(events, r.URL.Query().Get("key"))}, nil
		},
		"GET /api/beside": func(r *http.Request) (report any, err error) {
			world, _ := l.World()
			if world.beside == nil {
				return nil, errNotBeside
			}
			l.inside(func() { report = world.beside.Report(r.URL.Query().Get("key")) })
			return report, nil
		},
		"GET /api/session": func(*http.Request) (any, error) { return l.Session(), nil },
		"POST /act/{name}": func(r *http.Request) (any, error) {
			body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errBadBody, err)
			}
			return l.Do(r.Context(), r.PathValue("name"), body)
		},
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			code := 200
			result, err := ask(r)
			if err != nil {
				status, reason := codeOf(err)
				code, result = status, map[string]string{"error": err.Error(), "reason": reason}
			} else if result == nil {
				result = struct{}{}
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(result) // if the client is gone, there is no answer
		})
	}
	return mux
}

// maxBody is how long the body of an act may be.
const maxBody = 1 << 20

// Do does what POST /act/NAME does. The result is for JSON, or nil.
func (l *Lens) Do(ctx context.Context, name string, body []byte) (result any, err error) {
	switch {
	case name == "reset":
		options, err := read[Options](body)
		if err == nil {
			err = l.begin(Session{Options: options})
		}
		return nil, err
	case name == "replay":
		s, err := ReadSession(body)
		if err == nil {
			err = l.begin(s)
		}
		return nil, err
	case name == "beside":
		on, err := read[struct {
			On bool `json:"on"`
		}](body)
		if err == nil {
			world, _ := l.World()
			options := world.options
			options.Beside = on.On
			err = l.begin(Session{Options: options})
		}
		return nil, err
	case changes[name] == nil:
		return l.hub.do(name, body)
	}
	world, _ := l.World()
	l.inside(func() { result, err = world.Do(ctx, name, body) })
	return result, err
}

// Session returns what was done in this world so far.
func (l *Lens) Session() (s Session) {
	world, _ := l.World()
	l.inside(func() { s = world.Session() })
	return s
}

// read reads the body of an act strictly.
func read[T any](body []byte) (into T, err error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&into); err != nil && !errors.Is(err, io.EOF) {
		return into, fmt.Errorf("%w: %w", errBadBody, err)
	}
	return into, nil
}
