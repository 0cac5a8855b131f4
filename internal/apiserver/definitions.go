package apiserver

import "glasswatch/internal/apiserver/resource"

func (s *Server) definitionWritten(resource.Object) {}

func (s *Server) removeDefinitions() {}
