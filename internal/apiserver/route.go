package apiserver

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// target is what a URL below /api or /apis names.
type target struct {
	gv                                     schema.GroupVersion
	resource, namespace, name, subresource string
	watch                                  bool // the URL says so: /api/v1/watch/…
}

// parseTarget reads paths such as /apis/apps/v1/namespaces/default/deployments/web/status, and those with watch after the
// version, which are deprecated and still served.
func parseTarget(path string) (target, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var t target
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		t.gv = schema.GroupVersion{Version: parts[1]}
		parts = parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		t.gv = schema.GroupVersion{Group: parts[1], Version: parts[2]}
		parts = parts[3:]
	default:
		return t, false
	}
	if parts[0] == "watch" && len(parts) > 1 {
		t.watch, parts = true, parts[1:]
	}
	// /namespaces/x/services is in a namespace; /namespaces/x, /namespaces/x/status and …/finalize are the namespace.
	if parts[0] == "namespaces" && len(parts) >= 3 && parts[2] != "status" && parts[2] != "finalize" {
		t.namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 3 || (t.watch && len(parts) > 2) {
		return t, false
	}
	t.resource = parts[0]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource = parts[2]
	}
	for _, p := range parts {
		if p == "" {
			return t, false
		}
	}
	return t, true
}

// verb is the Kubernetes verb of a request, "" if there is none.
func verb(r *http.Request, t target) string {
	named := t.name != ""
	if t.watch {
		if r.Method == http.MethodGet {
			return "watch"
		}
		return ""
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if named {
			return "get"
		}
		if w := r.URL.Query().Get("watch"); w == "true" || w == "1" || (w == "" && r.URL.Query().Has("watch")) {
			return "watch"
		}
		return "list"
	case http.MethodPost:
		if !named {
			return "create"
		}
	case http.MethodPut:
		if named {
			return "update"
		}
	case http.MethodPatch:
		if named {
			return "patch"
		}
	case http.MethodDelete:
		if named {
			return "delete"
		}
		return "deletecollection"
	}
	return ""
}
