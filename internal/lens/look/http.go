package look

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Handler serves what PROTOCOL.md says of any view, without a guard: see [Guard]. Begin must have been called.
func Handler(hub *Hub) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stream", hub.stream)
	mux.HandleFunc("GET /api/snapshot", JSON(func(*http.Request) (any, error) { return hub.Snapshot(), nil }))
	mux.HandleFunc("GET /api/journey", JSON(func(r *http.Request) (any, error) {
		events, _ := hub.All()
		view, _ := hub.now()
		return map[string]any{"events": explain(events, r.URL.Query().Get("key"), view.Enqueuer)}, nil
	}))
	Act(mux, "{name}", func(r *http.Request, body []byte) (any, error) { return hub.Do(r.PathValue("name"), body) })
	return mux
}

// Act serves an act. What is returned is for JSON, or nil.
func Act(mux *http.ServeMux, name string, do func(r *http.Request, body []byte) (any, error)) {
	mux.HandleFunc("POST /act/"+name, JSON(func(r *http.Request) (any, error) {
		body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBadBody, err)
		}
		return do(r, body)
	}))
}

// maxBody is how long the body of an act may be.
const maxBody = 1 << 20

// JSON answers with what is returned.
func JSON(ask func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusOK
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
	}
}

// Read reads the body of an act strictly.
func Read[T any](body []byte) (into T, err error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&into); err != nil && !errors.Is(err, io.EOF) {
		return into, fmt.Errorf("%w: %w", ErrBadBody, err)
	}
	return into, nil
}

// The errors of acts that are not the API server's.
var (
	ErrUnknown = errors.New("unknown")
	ErrBadBody = errors.New("bad request")
)

// codeOf is the HTTP status of an error of an act.
func codeOf(err error) (code int, reason string) {
	var status apierrors.APIStatus
	var noAnswer *url.Error // of an HTTP client
	switch {
	case errors.As(err, &status):
		return int(status.Status().Code), string(status.Status().Reason)
	case errors.As(err, &noAnswer):
		return http.StatusServiceUnavailable, "ServiceUnavailable"
	case errors.Is(err, ErrUnknown):
		return http.StatusNotFound, "NotFound"
	case errors.Is(err, ErrBadBody), meta.IsNoMatchError(err):
		return http.StatusBadRequest, "BadRequest"
	default:
		return http.StatusConflict, "Conflict"
	}
}
