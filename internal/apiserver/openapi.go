package apiserver

import (
	"net/http"

	"glasswatch/internal/apiserver/resource"
)

// serveOpenAPI answers with documents over what is served now.
func (s *Server) serveOpenAPI(w http.ResponseWriter, req *http.Request) {
	s.documents.ServeHTTP(w, req)
}

// describe tells the documents what is served. They are built when they are asked for.
func (s *Server) describe() {
	var infos []*resource.Info
	for _, ep := range s.registry.all() {
		infos = append(infos, ep.Info)
	}
	s.documents.Update(infos)
}
