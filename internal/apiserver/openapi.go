package apiserver

import "net/http"

func (s *Server) serveOpenAPI(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) }
