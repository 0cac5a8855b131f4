package lens

import (
	"context"
	"embed"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"glasswatch/internal/lens/look"
)

//go:embed page
var page embed.FS

// Lens serves a world, and what can be done with it.
type Lens struct {
	hub       *look.Hub
	virtual   bool
	world     atomic.Pointer[World]
	resetting sync.Mutex // held while one world gives way to another
}

// New starts a world. Close it.
func New(options Options) (*Lens, error) { return Play(Session{Options: options}, false) }

// Play starts a world, and does there what a session says. In a testing/synctest bubble all worlds are virtual. What is
// called of the lens must then be called there.
func Play(s Session, virtual bool) (*Lens, error) {
	l := &Lens{hub: look.NewHub(), virtual: virtual}
	return l, l.begin(s)
}

// begin closes the world that there is, and starts another.
func (l *Lens) begin(s Session) error {
	if err := s.Options.validate(); err != nil {
		return err
	}
	l.resetting.Lock()
	defer l.resetting.Unlock()
	l.Close()
	world, err := NewWorld(l.hub, s.Options, l.virtual)
	if err != nil {
		return err
	}
	l.world.Store(world)
	world.Start(s)
	return nil
}

// Close ends the world. Streams end with their requests.
func (l *Lens) Close() {
	if world := l.world.Load(); world != nil {
		world.Close()
	}
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

func serveAct(mux *http.ServeMux, name string, do act) {
	look.Act(mux, name, func(r *http.Request, body []byte) (any, error) { return do(r.Context(), body) })
}

// Handler serves what PROTOCOL.md says, without a guard: see [look.Guard].
func (l *Lens) Handler() http.Handler {
	mux := withPage(look.Handler(l.hub))
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
	mux.HandleFunc("GET /api/beside", look.JSON(func(r *http.Request) (any, error) {
		if b := l.world.Load().beside; b != nil {
			return b.Report(r.URL.Query().Get("key")), nil
		}
		return nil, errNotBeside
	}))
	mux.HandleFunc("GET /api/versions", look.JSON(func(r *http.Request) (any, error) {
		return l.world.Load().versions(r.URL.Query().Get("key")), nil
	}))
	for name := range changes {
		serveAct(mux, name, func(ctx context.Context, body []byte) (any, error) {
			return l.world.Load().Do(ctx, name, body)
		})
	}
	serveAct(mux, "reset", reading(func(_ context.Context, o Options) (any, error) {
		return nil, l.begin(Session{Options: o})
	}))
	serveAct(mux, "replay", func(_ context.Context, body []byte) (any, error) {
		s, err := ReadSession(body)
		if err == nil {
			err = l.begin(s)
		}
		return nil, err
	})
	serveAct(mux, "beside", reading(func(_ context.Context, body struct{ On bool }) (any, error) {
		options := l.world.Load().options
		options.Beside = body.On
		return nil, l.begin(Session{Options: options})
	}))
	return mux
}

// Hub is what all worlds report to.
func (l *Lens) Hub() *look.Hub { return l.hub }

// Session returns what was done in this world so far.
func (l *Lens) Session() Session { return l.world.Load().Session() }
