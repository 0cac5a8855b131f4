package wire

import (
	"strings"

	"github.com/stretchr/testify/require"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
)

const acceptAggregated = "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

var allVerbs = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

var discoveries = group("discovery", []check{
	{name: "/api lists the versions of the core", run: func(t T, s *server) {
		got := &metav1.APIVersions{}
		s.get("/api").want(200).into(got)
		require.Equal(t, "APIVersions", got.Kind)
		require.Equal(t, []string{"v1"}, got.Versions)
	}},
	{name: "/apis lists the groups", run: func(t T, s *server) {
		got := &metav1.APIGroupList{}
		s.get("/apis").want(200).into(got)
		require.Equal(t, metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, got.TypeMeta)
		preferred := map[string]string{}
		for _, g := range got.Groups {
			preferred[g.Name] = g.PreferredVersion.GroupVersion
		}
		for group, want := range map[string]string{
			"apps": "apps/v1", "networking.k8s.io": "networking.k8s.io/v1", "autoscaling": "autoscaling/v2", "batch": "batch/v1",
			"apiextensions.k8s.io": "apiextensions.k8s.io/v1", "coordination.k8s.io": "coordination.k8s.io/v1",
			"authentication.k8s.io": "authentication.k8s.io/v1", "authorization.k8s.io": "authorization.k8s.io/v1",
		} {
			require.Equal(t, want, preferred[group], group)
		}
	}},
	{name: "a group lists its versions", run: func(t T, s *server) {
		got := &metav1.APIGroup{}
		s.get("/apis/networking.k8s.io").want(200).into(got)
		require.Equal(t, metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, got.TypeMeta)
		require.Equal(t, "networking.k8s.io", got.Name)
		require.Contains(t, got.Versions, got.PreferredVersion)
	}},
	{name: "a version lists its resources with verbs and short names", run: func(t T, s *server) {
		for _, want := range []metav1.APIResource{
			{Name: "configmaps", SingularName: "configmap", Namespaced: true, Kind: "ConfigMap", Verbs: allVerbs, ShortNames: []string{"cm"}},
			{Name: "services", SingularName: "service", Namespaced: true, Kind: "Service", Verbs: allVerbs, ShortNames: []string{"svc"}, Categories: []string{"all"}},
			{Name: "pods/status", Namespaced: true, Kind: "Pod", Verbs: metav1.Verbs{"get", "patch", "update"}},
			{Name: "namespaces", SingularName: "namespace", Kind: "Namespace", Verbs: metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}, ShortNames: []string{"ns"}},
			{Name: "namespaces/finalize", Kind: "Namespace", Verbs: metav1.Verbs{"update"}},
		} {
			require.Equal(t, want, s.resource("/api/v1", want.Name))
		}
		require.Equal(t, metav1.APIResource{Name: "ingresses", SingularName: "ingress", Namespaced: true, Kind: "Ingress", Verbs: allVerbs, ShortNames: []string{"ing"}},
			s.resource("/apis/networking.k8s.io/v1", "ingresses"))
		require.Equal(t, []string{"all"}, s.resource("/apis/apps/v1", "deployments").Categories)
	}},
	{name: "aggregated discovery is asked for by Accept", run: func(t T, s *server) {
		for _, path := range []string{"/api", "/apis"} {
			got := s.get(path, acceptAggregated+",application/json").want(200)
			require.Equal(t, strings.TrimPrefix(acceptAggregated, "Accept: "), got.header.Get("Content-Type"))
			list := &apidiscovery.APIGroupDiscoveryList{}
			got.into(list)
			require.Equal(t, metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}, list.TypeMeta)
			require.NotEmpty(t, list.Items)
		}
	}},
	{name: "aggregated discovery says what the lists say", run: func(t T, s *server) {
		list := &apidiscovery.APIGroupDiscoveryList{}
		s.get("/apis", acceptAggregated).want(200).into(list)
		for _, g := range list.Items {
			if g.Name != "networking.k8s.io" {
				continue
			}
			for _, r := range g.Versions[0].Resources {
				if r.Resource != "ingresses" {
					continue
				}
				one := s.resource("/apis/networking.k8s.io/v1", "ingresses")
				require.Equal(t, one.Kind, r.ResponseKind.Kind)
				require.Equal(t, apidiscovery.ScopeNamespace, r.Scope)
				require.Equal(t, one.SingularName, r.SingularResource)
				require.ElementsMatch(t, one.Verbs, r.Verbs)
				require.Equal(t, one.ShortNames, r.ShortNames)
				require.Equal(t, "status", r.Subresources[0].Subresource)
				return
			}
		}
		require.Fail(t, "no ingresses")
	}},
	{name: "an unknown version of it falls back, or is 406", run: func(t T, s *server) {
		const unknown = "Accept: application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList"
		require.Equal(t, "APIGroupList", s.get("/apis", unknown+",application/json").want(200).meta().Kind)
		s.get("/apis", unknown).want(406)
	}},
	{name: "discovery speaks protobuf", run: func(t T, s *server) {
		got := s.get("/apis/apps/v1", acceptProtobuf).want(200)
		list := &metav1.APIResourceList{}
		protobufInto(t, got.body, "APIResourceList", list)
		require.Equal(t, "apps/v1", list.GroupVersion)
	}},
	{name: "client-go finds its way", run: func(t T, s *server) {
		client, err := kubernetes.NewForConfigAndClient(s.config, s.client)
		require.NoError(t, err)
		var resources []*metav1.APIResourceList
		s.eventually("all groups are discovered; those of other checks come and go", func() bool {
			_, resources, err = client.Discovery().ServerGroupsAndResources()
			return err == nil
		})
		found := map[schema.GroupVersionResource]string{}
		for _, list := range resources {
			gv, err := schema.ParseGroupVersion(list.GroupVersion)
			require.NoError(t, err)
			for _, r := range list.APIResources {
				found[gv.WithResource(r.Name)] = r.Kind
			}
		}
		require.Equal(t, "Deployment", found[schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}])
		require.Equal(t, "Pod", found[schema.GroupVersionResource{Version: "v1", Resource: "pods"}])
	}},
	{name: "/ lists paths", run: func(t T, s *server) {
		got := &metav1.RootPaths{}
		s.get("/").want(200).into(got)
		for _, path := range []string{"/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"} {
			require.Contains(t, got.Paths, path)
		}
	}},
	{name: "/version tells major and minor", run: func(t T, s *server) {
		got := s.get("/version").want(200)
		require.Equal(t, "application/json", got.header.Get("Content-Type"))
		require.Equal(t, "1", got.at("major"))
		require.Equal(t, "37", got.at("minor"))
		require.Regexp(t, `^v1\.37\.`, got.at("gitVersion"))
		s.post("/version", "{}").fails(405, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource")
	}},
	{name: "the health paths say ok", run: func(t T, s *server) {
		for _, path := range []string{"/healthz", "/livez", "/readyz", "/healthz/ping", "/livez/ping", "/readyz/ping"} {
			got := s.healthy(path)
			require.Equal(t, "ok", string(got.body), path)
			require.Equal(t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))
		}
	}},
	{name: "an unknown health check is 404", run: func(t T, s *server) {
		s.get("/healthz/nope").want(404)
	}},
	{name: "the health paths can be verbose", run: func(t T, s *server) {
		got := string(s.healthy("/readyz?verbose").body)
		require.Contains(t, got, "[+]ping ok\n")
		require.True(t, strings.HasSuffix(got, "readyz check passed\n"), got)
	}},
	{name: "/openapi/v3 lists a document for each version", run: func(t T, s *server) {
		paths := s.get("/openapi/v3").want(200).at("paths").(map[string]any)
		url := paths["apis/apps/v1"].(map[string]any)["serverRelativeURL"].(string)
		require.True(t, strings.HasPrefix(url, "/openapi/v3/apis/apps/v1?hash="), url)
		got := s.get(url).want(200)
		require.Equal(t, "3.0.0", got.at("openapi"))
		require.NotNil(t, got.at("components", "schemas", "io.k8s.api.apps.v1.Deployment"))
		require.NotNil(t, got.at("paths", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "get"))
	}},
	{name: "/openapi/v2 describes the kinds", run: func(t T, s *server) {
		got := s.get("/openapi/v2").want(200)
		require.Equal(t, "2.0", got.at("swagger"))
		require.NotNil(t, got.at("definitions", "io.k8s.api.core.v1.ConfigMap"))
	}},
	{name: "who asks is told who they are", run: func(t T, s *server) {
		got := s.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", "{kind: SelfSubjectReview, apiVersion: authentication.k8s.io/v1}").want(201)
		require.Equal(t, metav1.TypeMeta{Kind: "SelfSubjectReview", APIVersion: "authentication.k8s.io/v1"}, got.meta().TypeMeta)
		require.NotEmpty(t, got.at("status", "userInfo", "username"))
	}},
	{name: "who asks is told what they may do", run: func(t T, s *server) {
		got := s.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "spec: {resourceAttributes: {verb: get, resource: pods}}").want(201)
		require.Equal(t, true, got.at("status", "allowed"))
		require.Equal(t, map[string]any{"verb": "get", "resource": "pods"}, got.at("spec", "resourceAttributes"))
	}},
})

// healthy waits for a server that is well: a real one is not while it has to wait for etcd.
func (s *server) healthy(path string) (got *response) {
	s.t.Helper()
	s.eventually(path+" is 200", func() bool {
		got = s.get(path)
		return got.code == 200
	})
	return got
}

// resource is what discovery says of one, without what only a real server has.
func (s *server) resource(root, name string) metav1.APIResource {
	s.t.Helper()
	list := &metav1.APIResourceList{}
	s.get(root).want(200).into(list)
	require.Equal(s.t, "APIResourceList", list.Kind)
	for _, r := range list.APIResources {
		if r.Name == name {
			r.StorageVersionHash = ""
			return r
		}
	}
	require.Fail(s.t, "not discovered: "+name)
	return metav1.APIResource{}
}
