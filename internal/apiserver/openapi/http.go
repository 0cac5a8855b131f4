package openapi

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Media types of the protobuf form. Clients ask for the first ("@"), which cannot stand in a Content-Type; the answer
// bears the second.
const (
	v2Asked  = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	v2Answer = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	v3Asked  = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
	v3Answer = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
)

// ServeHTTP answers /openapi/v2, /openapi/v3 and /openapi/v3/<group version>.
func (s *Service) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		http.Error(w, "only GET is allowed", http.StatusMethodNotAllowed)
		return
	}
	switch path := strings.TrimSuffix(req.URL.Path, "/"); {
	case path == "/openapi/v3":
		body, etag, err := s.index()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		send(w, req, "application/json", etag, body)
	case path == "/openapi/v2":
		serve(w, req, s.all(), v2Asked, v2Answer)
	case strings.HasPrefix(path, "/openapi/v3/"):
		s.serveV3(w, req, strings.TrimPrefix(path, "/openapi/v3/"))
	default:
		http.NotFound(w, req)
	}
}

// serveV3 sends a document. A request with an old hash is redirected to the present one. A client may keep a document
// by hash for a year, for another content has another hash.
func (s *Service) serveV3(w http.ResponseWriter, req *http.Request, path string) {
	d := s.find(path)
	if asked := req.URL.Query().Get("hash"); d != nil && asked != "" {
		if asked != d.hash {
			http.Redirect(w, req, "/openapi/v3/"+path+"?hash="+d.hash, http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	}
	serve(w, req, d, v3Asked, v3Answer)
}

func serve(w http.ResponseWriter, req *http.Request, d *document, asked, answer string) {
	if d == nil {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Vary", "Accept")
	form, build := accepted(req.Header.Get("Accept"), asked, answer), d.json
	switch form {
	case "":
		http.Error(w, "only JSON and protobuf are served", http.StatusNotAcceptable)
		return
	case answer:
		build = d.protobuf
	}
	body, err := build()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, req, form, d.hash, body)
}

// accepted is the first form in the Accept header that there is; JSON if the client does not mind.
func accepted(header, asked, answer string) string {
	if header == "" {
		return "application/json"
	}
	for clause := range strings.SplitSeq(header, ",") {
		media, _, _ := strings.Cut(clause, ";")
		switch strings.TrimSpace(media) {
		case "application/json", "application/*", "*/*":
			return "application/json"
		case asked, answer:
			return answer
		}
	}
	return ""
}

func send(w http.ResponseWriter, req *http.Request, contentType, etag string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Etag", strconv.Quote(etag))
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(body))
}
