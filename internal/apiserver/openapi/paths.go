package openapi

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/internal/apiserver/resource"
)

// object is a JSON object of a document. Paths are built as such, since v2 and v3 have different keys.
type object = map[string]any

// writer writes the paths of one document.
type writer struct {
	*schemas
	paths object
}

// addPaths adds what can be done with a resource: with a collection, with one object, and with its status.
func (w *writer) addPaths(info *resource.Info) {
	m := w.addResource(info)
	root := GroupVersionPath(info.GVR.GroupVersion()) + "/"
	collection, path := "/"+root+info.GVR.Resource, []object(nil)
	if info.Namespaced {
		w.paths[collection] = w.item(nil, object{"get": w.operation(info, "list", "ForAllNamespaces", m.list, listParameters, "")})
		collection = "/" + root + "namespaces/{namespace}/" + info.GVR.Resource
		path = []object{w.pathParameter("namespace")}
	}
	w.paths[collection] = w.item(path, object{
		"get":    w.operation(info, "list", "", m.list, listParameters, ""),
		"post":   w.operation(info, "post", "", m.object, writeParameters, m.object),
		"delete": w.operation(info, "deletecollection", "", w.add(reflect.TypeFor[metav1.Status]()), listParameters, ""),
	})
	path = append(path[:len(path):len(path)], w.pathParameter("name"))
	w.paths[collection+"/{name}"] = w.item(path, object{
		"get":    w.operation(info, "get", "", m.object, nil, ""),
		"put":    w.operation(info, "put", "", m.object, writeParameters, m.object),
		"patch":  w.patchOperation(info, "", m.object),
		"delete": w.operation(info, "delete", "", w.add(reflect.TypeFor[metav1.Status]()), deleteParameters, w.add(reflect.TypeFor[metav1.DeleteOptions]())),
	})
	if info.Status {
		w.paths[collection+"/{name}/status"] = w.item(path, object{
			"get":   w.operation(info, "get", "Status", m.object, nil, ""),
			"put":   w.operation(info, "put", "Status", m.object, writeParameters, m.object),
			"patch": w.patchOperation(info, "Status", m.object),
		})
	}
}

// item is the entry of one path.
func (w *writer) item(parameters []object, operations object) object {
	if len(parameters) > 0 {
		operations["parameters"] = parameters
	}
	return operations
}

type parameter struct{ name, kind, description string }

var (
	dryRun       = parameter{"dryRun", "string", "All: the request is answered as if it were carried out, but nothing is stored."}
	fieldManager = parameter{"fieldManager", "string", "The name under which the changes are recorded; required for server-side apply."}
	validation   = parameter{"fieldValidation", "string", "What to do about unknown and duplicate fields: Ignore, Warn or Strict."}
	force        = parameter{"force", "boolean", "Server-side apply takes over fields that conflict."}

	writeParameters  = []parameter{dryRun, fieldManager, validation}
	patchParameters  = []parameter{dryRun, fieldManager, validation, force}
	deleteParameters = []parameter{dryRun, {"gracePeriodSeconds", "integer", "Seconds before the object is deleted."},
		{"propagationPolicy", "string", "What happens to the objects it owns: Orphan, Background or Foreground."}}
	listParameters = []parameter{
		{"allowWatchBookmarks", "boolean", "Watches send bookmarks."}, {"continue", "string", "The next page, as the last one named it."},
		{"fieldSelector", "string", "Only objects with these fields."}, {"labelSelector", "string", "Only objects with these labels."},
		{"limit", "integer", "At most so many objects."}, {"resourceVersion", "string", "The version of the list, or where a watch starts."},
		{"resourceVersionMatch", "string", "NotOlderThan or Exact."}, {"sendInitialEvents", "boolean", "The watch begins with the objects that are there."},
		{"shardSelector", "string", "Only objects whose UID or namespace has a hash in these ranges."},
		{"timeoutSeconds", "integer", "When a watch ends."}, {"watch", "boolean", "Changes as they come, instead of a list."},
	}
)

func (w *writer) pathParameter(name string) object {
	return w.parameter(parameter{name, "string", name + " of the object"}, "path")
}

func (w *writer) parameter(p parameter, in string) object {
	out := object{"name": p.name, "in": in, "description": p.description}
	if in == "path" {
		out["required"] = true
	}
	kind := object{"type": p.kind, "uniqueItems": true}
	if w.v2 {
		for k, v := range kind {
			out[k] = v
		}
	} else {
		out["schema"] = kind
	}
	return out
}

var (
	contentTypes = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf}
	customTypes  = contentTypes[:2]
)

// operation describes one request. body is the schema of what it sends, "" if nothing.
func (w *writer) operation(info *resource.Info, action, suffix, answer string, parameters []parameter, body string) object {
	media := contentTypes
	if info.Custom != nil {
		media = customTypes
	}
	op := w.describe(info, action, suffix, parameters, media)
	w.answers(op, answer, media)
	if body != "" {
		w.sends(op, body, media)
	}
	return op
}

func (w *writer) patchOperation(info *resource.Info, suffix, answer string) object {
	op := w.operation(info, "patch", suffix, answer, patchParameters, "")
	media := []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.StrategicMergePatchType), string(types.ApplyYAMLPatchType)}
	if info.Custom != nil {
		media = []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType)}
	}
	w.sends(op, w.add(reflect.TypeFor[metav1.Patch]()), media)
	return op
}

func (w *writer) describe(info *resource.Info, action, suffix string, parameters []parameter, media []string) object {
	verb := map[string]string{"post": "create", "put": "replace", "deletecollection": "deleteCollection"}[action]
	if verb == "" {
		verb = action
	}
	id := verb + title(strings.Split(info.GVR.Group, ".")[0]) + title(info.GVR.Version)
	if info.GVR.Group == "" {
		id = verb + "Core" + title(info.GVR.Version)
	}
	if info.Namespaced && suffix != "ForAllNamespaces" {
		id += "Namespaced"
	}
	op := object{
		"operationId":                     id + info.GVK.Kind + suffix,
		"description":                     verb + " " + info.GVK.Kind,
		"x-kubernetes-action":             action,
		"x-kubernetes-group-version-kind": object{"group": info.GVK.Group, "version": info.GVK.Version, "kind": info.GVK.Kind},
	}
	if w.v2 {
		op["produces"], op["schemes"] = media, []string{"https"}
	}
	var list []object
	for _, p := range parameters {
		list = append(list, w.parameter(p, "query"))
	}
	if list != nil {
		op["parameters"] = list
	}
	return op
}

func (w *writer) answers(op object, model string, media []string) {
	ok := object{"description": "OK"}
	if w.v2 {
		ok["schema"] = w.ref(model)
	} else {
		ok["content"] = w.content(model, media)
	}
	op["responses"] = object{"200": ok}
}

func (w *writer) sends(op object, model string, media []string) {
	if !w.v2 {
		op["requestBody"] = object{"content": w.content(model, media)}
		return
	}
	op["consumes"] = media
	parameters, _ := op["parameters"].([]object)
	op["parameters"] = append([]object{{"name": "body", "in": "body", "required": true, "schema": w.ref(model)}}, parameters...)
}

func (w *writer) content(model string, media []string) object {
	out := object{}
	for _, m := range media {
		out[m] = object{"schema": w.ref(model)}
	}
	return out
}

func title(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
