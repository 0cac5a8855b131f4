package controllertest

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

// Who sends a request.
const (
	program = "program"
	others  = "others"
)

// request says what a request is about. Its words name the same request in each play.
type request struct {
	who            string
	verb, resource string
	sub            string // "/status", or empty
	object         string // namespace/name; "*" stands for what the server made of a generateName
	nth            int    // of the requests with the same words; from 1
	isDry          bool   // it is to change nothing
}

func (r request) words() string {
	return fmt.Sprintf("%s %s %s%s %s", r.who, r.verb, r.resource, r.sub, r.object)
}

func (r request) String() string { return fmt.Sprintf("%s #%d", r.words(), r.nth) }

func (r request) isWrite() bool {
	return r.verb != "" && r.verb != "list" && r.verb != "watch" && r.verb != "get"
}

// parse reads the URL, and of a creation also the body, which has the name. Events, Leases and reviews are not counted: they have no verb.
func parse(who string, r *http.Request, body []byte) request {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	group := ""
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		group, parts = parts[1], parts[3:]
	default:
		return request{who: who}
	}
	namespace := ""
	if parts[0] == "namespaces" && len(parts) >= 3 && parts[2] != "status" && parts[2] != "finalize" {
		namespace, parts = parts[1], parts[2:]
	}
	if isUnnamed(group, parts[0]) {
		return request{who: who}
	}
	req := request{who: who, resource: parts[0], isDry: r.URL.Query().Has("dryRun")}
	name := ""
	if len(parts) > 1 {
		name = parts[1]
	}
	if len(parts) > 2 {
		req.sub = "/" + parts[2]
	}
	switch r.Method {
	case http.MethodPost:
		req.verb = "create"
		if meta := metaOf(body); name == "" {
			name = meta.Name
			if name == "" && meta.GenerateName != "" {
				name = meta.GenerateName + "*"
			}
		}
	case http.MethodPut:
		req.verb = "update"
	case http.MethodPatch:
		req.verb = "patch"
	case http.MethodDelete:
		req.verb = "delete"
	default:
		req.verb = "get"
		if r.URL.Query().Has("watch") {
			req.verb = "watch"
		} else if name == "" {
			req.verb = "list"
		}
	}
	req.object = strings.TrimPrefix(namespace+"/"+name, "/")
	return req
}

// isUnnamed tells whether requests for a resource have no names, and hence no faults.
func isUnnamed(group, resource string) bool {
	switch group {
	case "", "events.k8s.io":
		return resource == "events"
	case "coordination.k8s.io":
		return resource == "leases"
	case "authentication.k8s.io", "authorization.k8s.io":
		return strings.HasSuffix(resource, "reviews")
	}
	return false
}

// protobuf is how a body in Kubernetes' protobuf begins.
var protobuf = []byte("k8s\x00")

// metaOf reads the metadata of an object in JSON or protobuf. What cannot be read has none: the server will refuse it.
func metaOf(body []byte) metav1.ObjectMeta {
	var meta metav1.PartialObjectMetadata
	if envelope, ok := bytes.CutPrefix(body, protobuf); ok {
		var unknown runtime.Unknown
		if unknown.Unmarshal(envelope) == nil {
			_ = meta.Unmarshal(unknown.Raw) // metadata is field 1 of each kind
		}
		return meta.ObjectMeta
	}
	_ = json.Unmarshal(body, &meta)
	return meta.ObjectMeta
}
