package apiserver

import "glasswatch/internal/apiserver/resource"

// Objects returns all that the server holds at one moment. The
// objects are the server's own and never change; neither may the caller change them.
func (s *Server) Objects() []resource.Object {
	var all []resource.Object
	for _, tree := range s.store.Backup().Trees() {
		for _, obj := range tree.Range("", "") {
			all = append(all, obj)
		}
	}
	return all
}
