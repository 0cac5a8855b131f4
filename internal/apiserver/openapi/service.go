package openapi

import (
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"sync"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/internal/apiserver/resource"
)

// Service serves the documents of a set of resources, which may change while it does. The zero value serves none.
// All methods may be called from any goroutine.
type Service struct {
	// Version is that of the API server ("v1.37.2"), for the documents' heads. Set it before the first request.
	Version string

	mu sync.Mutex
	// current maps "apis/apps/v1" to the document of that group version. Invariant: never changed, only replaced.
	current map[string]*document
	v2      *document
}

// document is built when it is first asked for.
type document struct {
	hash     string
	json     func() ([]byte, error)
	protobuf func() ([]byte, error)
}

// Update makes resources the ones that are described. It builds nothing; documents of group versions that did not change
// are kept. Two Infos are the same resource if they agree in names, flags and the UID and schema of their definition.
func (s *Service) Update(resources []*resource.Info) {
	byVersion := map[string][]*resource.Info{}
	for _, info := range resources {
		path := GroupVersionPath(info.GVR.GroupVersion())
		byVersion[path] = append(byVersion[path], info)
	}
	all := sha512.New()
	next := map[string]*document{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, infos := range byVersion {
		h := hash(s.Version, infos)
		if next[path] = s.current[path]; next[path] == nil || next[path].hash != h {
			next[path] = s.newDocument(h, infos, false)
		}
	}
	fmt.Fprint(all, hash(s.Version, resources))
	if h := fmt.Sprintf("%X", all.Sum(nil)); s.v2 == nil || s.v2.hash != h {
		s.v2 = s.newDocument(h, append([]*resource.Info(nil), resources...), true)
	}
	s.current = next
}

// hash identifies what a document would say, without building it.
func hash(version string, infos []*resource.Info) string {
	h := sha512.New()
	fmt.Fprintln(h, version)
	for _, i := range infos {
		fmt.Fprintln(h, i.GVR, i.GVK, i.ListKind, i.Namespaced, i.Status)
		if i.Custom != nil {
			fmt.Fprintln(h, i.Custom.UID)
			_ = json.NewEncoder(h).Encode(i.Custom.Schema) // a schema that cannot be encoded counts as none
		}
	}
	return fmt.Sprintf("%X", h.Sum(nil))
}

func (s *Service) newDocument(h string, infos []*resource.Info, v2 bool) *document {
	d := &document{hash: h}
	d.json = sync.OnceValues(func() ([]byte, error) { return build(s.Version, infos, v2) })
	d.protobuf = sync.OnceValues(func() ([]byte, error) {
		body, err := d.json()
		if err != nil {
			return nil, err
		}
		var message proto.Message
		if v2 {
			message, err = openapi_v2.ParseDocument(body)
		} else {
			message, err = openapi_v3.ParseDocument(body)
		}
		if err != nil {
			return nil, err
		}
		return proto.Marshal(message)
	})
	return d
}

func build(version string, infos []*resource.Info, v2 bool) ([]byte, error) {
	w := &writer{schemas: newSchemas(v2), paths: object{}}
	for _, info := range infos {
		w.addPaths(info)
	}
	doc := object{"info": object{"title": "Kubernetes", "version": version}, "paths": w.paths}
	if v2 {
		doc["swagger"], doc["definitions"] = "2.0", w.byName
	} else {
		doc["openapi"], doc["components"] = "3.0.0", object{"schemas": w.byName}
	}
	return json.Marshal(doc)
}

// GroupVersionPath is "api/v1" of the core group, "apis/apps/v1" of others.
func GroupVersionPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.Group + "/" + gv.Version
}

// index is the answer to /openapi/v3, and its hash.
func (s *Service) index() (body []byte, etag string, err error) {
	s.mu.Lock()
	current := s.current
	s.mu.Unlock()
	paths := object{}
	for path, d := range current {
		paths[path] = object{"serverRelativeURL": "/openapi/v3/" + path + "?hash=" + d.hash}
	}
	if body, err = json.Marshal(object{"paths": paths}); err != nil {
		return nil, "", err
	}
	return body, fmt.Sprintf("%X", sha512.Sum512(body)), nil
}

// find returns the document of a group version ("apis/apps/v1"), or nil.
func (s *Service) find(path string) *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current[path]
}

func (s *Service) all() *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.v2
}
