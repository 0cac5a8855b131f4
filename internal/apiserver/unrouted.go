package apiserver

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/internal/apiserver/resource"
)

// A real server refuses requests in two places. Its router knows the paths, methods and media types of built-in groups,
// and answers with the bare code. Its handlers serve all custom resources, and their errors name resource and verb.

// unrouted answers for a path that nothing is served at.
func (s *Server) unrouted(w http.ResponseWriter, req *http.Request) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	if parts[0] == "api" || (len(parts) > 2 && parts[0] == "apis" && builtinGroup(parts[1])) {
		writeStatus(w, req, jsonFormat, routeError(http.StatusNotFound, ""))
		return
	}
	plainNotFound(w)
}

func plainNotFound(w http.ResponseWriter) {
	http.Error(w, "404 page not found", http.StatusNotFound)
}

func builtinGroup(name string) bool {
	isIt := func(gv schema.GroupVersion) bool { return gv.Group == name }
	return slices.ContainsFunc(reviewGroups, isIt) ||
		slices.ContainsFunc(resource.Builtins(), func(info *resource.Info) bool { return info.GVR.Group == name })
}

// routeError is the router's error. An empty message stands for the usual words.
func routeError(code int, message string) error {
	err := apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", "", 0, false)
	if message != "" {
		err.ErrStatus.Message = message
	}
	return err
}

// acrossNamespaces tells whether a request for custom resources is one that exists within a namespace only.
func (r *request) acrossNamespaces() bool {
	return r.Custom != nil && r.Namespaced && r.target.namespace == "" && r.verb != "list" && r.verb != "watch"
}

// routed refuses what the resource does not have: subresources, verbs, media types.
func (r *request) routed() error {
	if r.Custom != nil {
		return r.routedCustom()
	}
	switch {
	case !r.hasSubresource():
		return routeError(http.StatusNotFound, "")
	case r.http.Method == http.MethodHead || !r.allows():
		return routeError(http.StatusMethodNotAllowed, "")
	case !acceptable(r.http.Header.Get("Accept")):
		return routeError(http.StatusNotAcceptable, "406: Not Acceptable\n\nAvailable representations: "+strings.Join(mediaTypes(), ", "))
	case r.verb == "patch" && !r.patchable():
		return routeError(http.StatusUnsupportedMediaType, "415: Unsupported Media Type")
	}
	return nil
}

func (r *request) routedCustom() error {
	switch {
	case !r.hasSubresource():
		return apierrors.NewNotFound(r.groupResource(), r.target.name)
	case r.target.name == "" && (r.http.Method == http.MethodPut || r.http.Method == http.MethodPatch):
		return apierrors.NewBadRequest("name must be provided")
	case !r.allows():
		return apierrors.NewMethodNotSupported(r.groupResource(), r.verb)
	}
	return nil
}

func (r *request) hasSubresource() bool {
	switch r.target.subresource {
	case "":
		return true
	case "status":
		return r.Status
	case "scale":
		return r.endpoint.scaled != nil
	case "finalize":
		return r.table == namespacesResource
	}
	return false
}

// allows tells whether the verb exists on the resource or its subresource.
func (r *request) allows() bool {
	if r.Namespaced && r.target.namespace == "" && (r.verb == "create" || r.verb == "deletecollection") {
		return false
	}
	switch r.target.subresource {
	case "status", "scale":
		return slices.Contains(statusVerbs, r.verb)
	case "finalize":
		return r.verb == "update"
	}
	return slices.Contains(verbsOf(r.Info), r.verb)
}

// verbsOf are those of a resource, its subresources apart.
func verbsOf(info *resource.Info) metav1.Verbs {
	if info.GroupResource() == namespacesResource {
		return slices.DeleteFunc(slices.Clone(verbs), func(v string) bool { return v == "deletecollection" })
	}
	return verbs
}

// patchable looks at the type of a patch.
func (r *request) patchable() bool {
	mediaType, _, _ := mime.ParseMediaType(r.http.Header.Get("Content-Type"))
	return slices.Contains(r.patcher().Types(), mediaType)
}

// acceptable looks at media types without their parameters. Like a real server's router it does not know application/*.
func acceptable(accept string) bool {
	return slices.ContainsFunc(parseAccept(accept), func(c clause) bool {
		return c.mediaType == "*/*" || slices.Contains(mediaTypes(), c.mediaType)
	})
}
