package apiserver

import (
	"net/http"
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// serveDiscovery answers /api, /apis, /apis/<group>, /api/v1 and /apis/<group>/<version>.
func (s *Server) serveDiscovery(w http.ResponseWriter, req *http.Request) bool {
	path := strings.Trim(req.URL.Path, "/")
	parts := strings.Split(path, "/")
	var obj runtime.Object
	switch {
	case path == "":
		s.servePaths(w)
		return true
	case path == "api" || path == "apis":
		if f, ok := aggregated(req); ok {
			s.writeAggregated(w, req, f, path == "api")
			return true
		}
		obj = s.legacyRoot(path == "api")
	case parts[0] == "api" && len(parts) == 2:
		obj = s.resourceList(schema.GroupVersion{Version: parts[1]})
	case parts[0] == "apis" && len(parts) == 2:
		obj = s.group(parts[1])
	case parts[0] == "apis" && len(parts) == 3:
		obj = s.resourceList(schema.GroupVersion{Group: parts[1], Version: parts[2]})
	default:
		return false
	}
	if obj == nil {
		s.unrouted(w, req)
		return true
	}
	f, err := negotiate(req.Header.Get("Accept"), false, false)
	if err != nil {
		writeStatus(w, req, jsonFormat, err)
		return true
	}
	_ = writeEncoded(w, req, f, http.StatusOK, obj)
	return true
}

// servePaths answers / with the paths there are.
func (s *Server) servePaths(w http.ResponseWriter) {
	paths := []string{"/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"}
	groups, versions := s.groupVersions()
	for _, group := range groups {
		prefix := "/api"
		if group != "" {
			prefix = "/apis/" + group
			paths = append(paths, prefix)
		}
		for _, v := range versions[group] {
			paths = append(paths, prefix+"/"+v)
		}
	}
	slices.Sort(paths)
	writePlainJSON(w, metav1.RootPaths{Paths: paths})
}

// groupVersions lists what is served, groups in order of first appearance, versions preferred first.
func (s *Server) groupVersions() (groups []string, versions map[string][]string) {
	versions = map[string][]string{}
	for _, ep := range s.registry.all() {
		group := ep.GVR.Group
		if _, ok := versions[group]; !ok {
			groups = append(groups, group)
		}
		known := false
		for _, v := range versions[group] {
			known = known || v == ep.GVR.Version
		}
		if !known {
			versions[group] = insertVersion(versions[group], ep.GVR.Version)
		}
	}
	for _, gv := range reviewGroups {
		groups, versions[gv.Group] = append(groups, gv.Group), []string{gv.Version}
	}
	return groups, versions
}

// insertVersion keeps a list of versions sorted: v2 before v1 before v1beta1.
func insertVersion(versions []string, v string) []string {
	i := 0
	for i < len(versions) && version.CompareKubeAwareVersionStrings(versions[i], v) >= 0 {
		i++
	}
	versions = append(versions, "")
	copy(versions[i+1:], versions[i:])
	versions[i] = v
	return versions
}

func (s *Server) legacyRoot(core bool) runtime.Object {
	if core {
		return &metav1.APIVersions{
			TypeMeta:                   metav1.TypeMeta{Kind: "APIVersions"},
			Versions:                   []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{},
		}
	}
	list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	groups, _ := s.groupVersions()
	for _, name := range groups {
		if name != "" {
			g := s.group(name).(*metav1.APIGroup)
			g.TypeMeta = metav1.TypeMeta{}
			list.Groups = append(list.Groups, *g)
		}
	}
	return list
}

// group returns nil, not a typed nil, if there is no such group.
func (s *Server) group(name string) runtime.Object {
	_, versions := s.groupVersions()
	if name == "" || len(versions[name]) == 0 {
		return nil
	}
	g := &metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: name}
	for _, v := range versions[name] {
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
	}
	g.PreferredVersion = g.Versions[0]
	return g
}

func (s *Server) resourceList(gv schema.GroupVersion) runtime.Object {
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	for _, ep := range s.registry.all() {
		if ep.GVR.GroupVersion() != gv {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: ep.GVR.Resource, SingularName: ep.Singular, Namespaced: ep.Namespaced, Kind: ep.GVK.Kind,
			Verbs: verbsOf(ep.Info), ShortNames: ep.ShortNames, Categories: ep.Categories,
		})
		for _, sub := range subresources(ep) {
			r := metav1.APIResource{Name: ep.GVR.Resource + "/" + sub.name, Namespaced: ep.Namespaced, Kind: sub.kind.Kind, Verbs: sub.verbs}
			if sub.kind.GroupVersion() != gv {
				r.Group, r.Version = sub.kind.Group, sub.kind.Version
			}
			list.APIResources = append(list.APIResources, r)
		}
	}
	for _, kind := range reviewKinds[gv] {
		name := strings.ToLower(kind)
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: name + "s", SingularName: name, Kind: kind, Verbs: metav1.Verbs{"create"},
		})
	}
	if len(list.APIResources) == 0 {
		return nil
	}
	return list
}

var (
	verbs       = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	statusVerbs = metav1.Verbs{"get", "patch", "update"}
)

type subresource struct {
	name  string
	kind  schema.GroupVersionKind
	verbs metav1.Verbs
}

func subresources(ep *endpoint) []subresource {
	var out []subresource
	if ep.table == namespacesResource {
		out = append(out, subresource{"finalize", ep.GVK, metav1.Verbs{"update"}})
	}
	if ep.Info.Status {
		out = append(out, subresource{"status", ep.GVK, statusVerbs})
	}
	if ep.scaled != nil {
		out = append(out, subresource{"scale", scaleKind, statusVerbs})
	}
	return out
}

// aggregated tells whether the client prefers all of discovery in one answer.
func aggregated(req *http.Request) (format, bool) {
	for _, c := range parseAccept(req.Header.Get("Accept")) {
		info := serializerFor(c.mediaType)
		switch {
		case info.Serializer == nil:
		case c.params["as"] == "":
			return format{}, false
		case c.params["as"] == "APIGroupDiscoveryList" && c.params["g"] == apidiscovery.GroupName && c.params["v"] == "v2":
			return format{info: info}, true
		}
	}
	return format{}, false
}

func (s *Server) writeAggregated(w http.ResponseWriter, req *http.Request, f format, core bool) {
	list := &apidiscovery.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"},
		Items:    []apidiscovery.APIGroupDiscovery{},
	}
	groups, versions := s.groupVersions()
	for _, name := range groups {
		if (name == "") != core {
			continue
		}
		g := apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, v := range versions[name] {
			g.Versions = append(g.Versions, apidiscovery.APIVersionDiscovery{
				Version:   v,
				Freshness: apidiscovery.DiscoveryFreshnessCurrent,
				Resources: s.aggregatedResources(schema.GroupVersion{Group: name, Version: v}),
			})
		}
		list.Items = append(list.Items, g)
	}
	w.Header().Set("Vary", "Accept")
	f.info.MediaType += ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	_ = writeEncoded(w, req, f, http.StatusOK, list)
}

func (s *Server) aggregatedResources(gv schema.GroupVersion) []apidiscovery.APIResourceDiscovery {
	var out []apidiscovery.APIResourceDiscovery
	for _, ep := range s.registry.all() {
		if ep.GVR.GroupVersion() != gv {
			continue
		}
		kind := metav1.GroupVersionKind(ep.GVK)
		d := apidiscovery.APIResourceDiscovery{
			Resource: ep.GVR.Resource, ResponseKind: &kind, Scope: apidiscovery.ScopeCluster,
			SingularResource: ep.Singular, Verbs: verbsOf(ep.Info), ShortNames: ep.ShortNames, Categories: ep.Categories,
		}
		if ep.Namespaced {
			d.Scope = apidiscovery.ScopeNamespace
		}
		for _, sub := range subresources(ep) {
			kind := metav1.GroupVersionKind(sub.kind)
			d.Subresources = append(d.Subresources, apidiscovery.APISubresourceDiscovery{Subresource: sub.name, ResponseKind: &kind, Verbs: sub.verbs})
		}
		out = append(out, d)
	}
	for _, kind := range reviewKinds[gv] {
		gvk := metav1.GroupVersionKind(gv.WithKind(kind))
		name := strings.ToLower(kind)
		out = append(out, apidiscovery.APIResourceDiscovery{
			Resource: name + "s", SingularResource: name, ResponseKind: &gvk, Scope: apidiscovery.ScopeCluster, Verbs: metav1.Verbs{"create"},
		})
	}
	return out
}
