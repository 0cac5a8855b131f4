package lens

import (
	"context"
	"embed"
	"io/fs"
	"net/http"
	"strings"
	"sync"

	"glasswatch/internal/lens/look"
)

//go:embed page
var page embed.FS

// Lens serves a world, and what can be done with it.
type Lens struct {
	hub    *look.Hub
	bubble *look.Bubble // that the worlds are in, or nil

	resetting sync.Mutex // held while one world gives way to another

	mu     sync.Mutex // protects what follows
	world  *World
	worlds int // how many there were
}

// New starts a world. Close it.
func New(options Options) (*Lens, error) { return NewIn(nil, Session{Options: options}) }

// NewIn starts a world in a bubble, if that is not nil, and does there what a session says.
func NewIn(bubble *look.Bubble, s Session) (*Lens, error) {
	l := &Lens{hub: look.NewHub(bubble), bubble: bubble}
	return l, l.begin(s)
}

// begin closes the world that there is, and starts another.
func (l *Lens) begin(s Session) (err error) {
	if err := s.Options.validate(); err != nil {
		return err
	}
	l.resetting.Lock()
	defer l.resetting.Unlock()
	l.Close()
	var world *World
	l.bubble.Inside(func() {
		l.hub.Restart()
		world, err = NewWorld(l.hub, s, l.bubble != nil)
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.world = world
	l.worlds++
	l.hub.Wake()
	return nil
}

// Close ends the world. Streams end with their requests.
func (l *Lens) Close() {
	if world := l.World(); world != nil {
		l.bubble.Inside(world.Close)
	}
}

// World returns the one that is looked at.
func (l *Lens) World() *World {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.world
}

// withPage serves the page with what it asks for.
func withPage(mux *http.ServeMux) *http.ServeMux {
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	mux.Handle("GET /", http.FileServerFS(files))
	return mux
}

// Handler serves what PROTOCOL.md says, without a guard: see [look.Guard].
func (l *Lens) Handler() http.Handler {
	mux := withPage(look.Handler(l.hub, l.view))
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
	mux.HandleFunc("GET /api/session", look.JSON(func(*http.Request) (any, error) { return l.Session(), nil }))
	mux.HandleFunc("GET /api/beside", look.JSON(func(r *http.Request) (report any, err error) {
		world := l.World()
		if world.beside == nil {
			return nil, errNotBeside
		}
		l.bubble.Inside(func() { report = world.beside.Report(r.URL.Query().Get("key")) })
		return report, nil
	}))
	return mux
}

// view is that of the world that is looked at.
func (l *Lens) view() *look.View {
	l.mu.Lock()
	defer l.mu.Unlock()
	view := l.world.view()
	view.Number, view.Do = l.worlds, l.Do
	return view
}

// Do does what POST /act/NAME does. The result is for JSON, or nil.
func (l *Lens) Do(ctx context.Context, name string, body []byte) (result any, err error) {
	switch {
	case name == "reset":
		options, err := look.Read[Options](body)
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
		on, err := look.Read[struct {
			On bool `json:"on"`
		}](body)
		if err == nil {
			world := l.World()
			options := world.options
			options.Beside = on.On
			err = l.begin(Session{Options: options})
		}
		return nil, err
	case changes[name] == nil:
		return l.hub.Do(ctx, name, body)
	}
	world := l.World()
	l.bubble.Inside(func() { result, err = world.Do(ctx, name, body) })
	return result, err
}

// Session returns what was done in this world so far.
func (l *Lens) Session() (s Session) {
	world := l.World()
	l.bubble.Inside(func() { s = world.Session() })
	return s
}
