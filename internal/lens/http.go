package lens

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"sync"
)

//go:embed page
var page embed.FS

// Lens serves a world, and what can be done with it.
type Lens struct {
	hub *Hub

	acting sync.Mutex // held by what goes into the session, so that the file has the order in which things were done

	mu      sync.Mutex // protects what follows
	world   *World
	worlds  int // how many there were
	session Session
}

// New starts a world. Close it.
func New(options Options) (*Lens, error) {
	l := &Lens{hub: NewHub()}
	return l, l.begin(options)
}

// begin closes the world that there is, and starts another.
func (l *Lens) begin(options Options) error {
	if err := options.validate(); err != nil {
		return err
	}
	l.Close()
	l.hub.Restart()
	world, err := NewWorld(l.hub, options)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.world = world
	l.worlds++
	l.session = Session{Format: sessionFormat, Options: options, Actions: []Action{}}
	l.hub.Wake()
	return nil
}

// Close ends the world. Streams end with their requests.
func (l *Lens) Close() {
	l.mu.Lock()
	world := l.world
	l.mu.Unlock()
	if world != nil {
		world.Close()
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
	mux.HandleFunc("GET /api/snapshot", func(w http.ResponseWriter, r *http.Request) {
		snapshot, _ := l.snapshot()
		answer(w, 200, snapshot)
	})
	mux.HandleFunc("GET /api/journey", func(w http.ResponseWriter, r *http.Request) {
		answer(w, 200, map[string]any{"events": l.hub.Journey(r.URL.Query().Get("key"))})
	})
	mux.HandleFunc("GET /api/session", func(w http.ResponseWriter, r *http.Request) { answer(w, 200, l.Session()) })
	mux.HandleFunc("POST /act/{name}", l.act)
	return mux
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // if the client is gone, there is no answer
}

func fail(w http.ResponseWriter, err error) {
	code, reason := codeOf(err)
	answer(w, code, map[string]string{"error": err.Error(), "reason": reason})
}

// maxBody is how long the body of an act may be.
const maxBody = 1 << 20

func (l *Lens) act(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		fail(w, fmt.Errorf("%w: %w", errBadBody, err))
		return
	}
	result, err := l.Do(r.Context(), name, body)
	if err != nil {
		fail(w, err)
		return
	}
	if result == nil {
		result = struct{}{}
	}
	answer(w, 200, result)
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
