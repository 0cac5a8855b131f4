package wire

import (
	"net/url"
	"strconv"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// far is a resourceVersion that no server of a test reaches.
const far = "987654321"

var lists = group("list", []check{
	{name: "a list bears kind, apiVersion and a version, its items do not", run: func(t T, s *server) {
		s.configMaps("a")
		got := s.get(s.path("configmaps")).list()
		require.Equal(t, metav1.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"}, got.TypeMeta)
		require.NotZero(t, number(t, got.ResourceVersion))
		require.Equal(t, metav1.TypeMeta{}, got.Items[0].TypeMeta)
	}},
	{name: "an empty list has items, none of them", run: func(t T, s *server) {
		require.Equal(t, []any{}, s.get(s.path("configmaps")).at("items"))
	}},
	{name: "the items are sorted by namespace and name", run: func(t T, s *server) {
		other := s.newNamespace()
		s.configMaps("c", "a.b", "a", "a-b", "b")
		s.post(pathIn(other, "configmaps"), "metadata: {name: aa, labels: {of: "+s.ns+"}}").want(201)
		for _, name := range []string{"c", "a-b"} {
			s.patch(s.path("configmaps", name), mergePatch, "metadata: {labels: {of: "+s.ns+"}}").want(200)
		}
		require.Equal(t, []string{"a", "a-b", "a.b", "b", "c"}, s.get(s.path("configmaps")).names())
		want := []string{"a-b", "c", "aa"}
		if other < s.ns {
			want = []string{"aa", "a-b", "c"}
		}
		require.Equal(t, want, s.get(all("configmaps")+"?labelSelector=of%3D"+s.ns).names())
	}},
	{name: "a list sees every write that was answered before", run: func(t T, s *server) {
		for i := range 10 {
			made := s.configMaps("n" + strconv.Itoa(i))
			got := s.get(s.path("configmaps")).list()
			require.Len(t, got.Items, i+1)
			require.GreaterOrEqual(t, number(t, got.ResourceVersion), number(t, made.version()))
		}
	}},
	{name: "an exact version shows the past", run: func(t T, s *server) {
		first := s.configMaps("a").version()
		s.configMaps("b")
		s.patch(s.path("configmaps", "a"), mergePatch, "data: {k: w}").want(200)
		got := s.get(s.path("configmaps") + "?resourceVersionMatch=Exact&resourceVersion=" + first)
		require.Equal(t, []string{"a"}, got.names())
		require.Equal(t, first, got.version())
		require.Equal(t, first, got.list().Items[0].ResourceVersion)
	}},
	{name: "a version with a limit and no match is exact", run: func(t T, s *server) {
		first := s.configMaps("a").version()
		s.configMaps("b")
		got := s.get(s.path("configmaps") + "?limit=5&resourceVersion=" + first)
		require.Equal(t, []string{"a"}, got.names())
		require.Equal(t, first, got.version())
	}},
	{name: "a version without a limit is the least one", run: func(t T, s *server) {
		first := s.configMaps("a").version()
		s.configMaps("b")
		s.eventually("the list is as fresh", func() bool {
			got := s.get(s.path("configmaps") + "?resourceVersion=" + first).list()
			require.GreaterOrEqual(t, number(t, got.ResourceVersion), number(t, first))
			return len(got.Items) == 2
		})
	}},
	{name: "NotOlderThan is at least that version", run: func(t T, s *server) {
		s.configMaps("a")
		last := s.configMaps("b").version()
		got := s.get(s.path("configmaps") + "?resourceVersionMatch=NotOlderThan&resourceVersion=" + last)
		require.Equal(t, []string{"a", "b"}, got.names())
	}},
	{name: "version 0 is any moment", run: func(t T, s *server) {
		s.configMaps("a")
		s.eventually("version 0 shows the object", func() bool {
			return len(s.get(s.path("configmaps")+"?resourceVersion=0").names()) == 1
		})
	}},
	{name: "version 0 ignores limits", run: func(t T, s *server) {
		s.configMaps("a", "b", "c")
		s.eventually("version 0 shows the objects", func() bool {
			got := s.get(s.path("configmaps") + "?resourceVersion=0&limit=1").list()
			require.Empty(t, got.Continue)
			return len(got.Items) == 3
		})
	}},
	{name: "a version in the future is 504 with the cause ResourceVersionTooLarge", run: func(t T, s *server) {
		got := s.get(s.path("configmaps") + "?resourceVersion=" + far)
		status := got.fails(504, metav1.StatusReasonTimeout, "Timeout: Too large resource version: "+far+", current: …")
		require.Equal(t, []string{"ResourceVersionTooLarge : Too large resource version"}, causes(status))
		require.EqualValues(t, 1, status.Details.RetryAfterSeconds)
		require.Equal(t, "1", got.header.Get("Retry-After"))
	}},
	{name: "an exact version in the future is 504, too", run: func(t T, s *server) {
		got := s.get(s.path("configmaps") + "?resourceVersionMatch=Exact&resourceVersion=" + far)
		status := got.fails(504, metav1.StatusReasonTimeout, "Timeout: Too large resource version: "+far+", current: …")
		require.True(t, len(causes(status)) == 1)
	}},
	{name: "a version that is no number is 400", run: func(t T, s *server) {
		for _, version := range []string{"abc", "-1"} {
			s.get(s.path("configmaps")+"?resourceVersion="+version).fails(400, metav1.StatusReasonBadRequest,
				`invalid resource version: resourceVersion: Invalid value: "`+version+`": strconv.ParseUint: parsing "`+version+`": invalid syntax`)
		}
	}},
	{name: "a match without a version is 422", run: invalidList("resourceVersionMatch=Exact",
		"FieldValueForbidden resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided")},
	{name: "version 0 cannot be exact", run: invalidList("resourceVersionMatch=Exact&resourceVersion=0",
		`FieldValueForbidden resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`)},
	{name: "an unknown match is 422", run: invalidList("resourceVersionMatch=Near&resourceVersion=1",
		`FieldValueNotSupported resourceVersionMatch: Unsupported value: "Near": supported values: "Exact", "NotOlderThan", ""`)},
	{name: "sendInitialEvents is for watches", run: invalidList("sendInitialEvents=true",
		"FieldValueForbidden sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list")},
	{name: "a limit that is no number is 400", run: func(t T, s *server) {
		s.get(s.path("configmaps")+"?limit=x").fails(400, metav1.StatusReasonBadRequest, `strconv.ParseInt: parsing "x": invalid syntax`)
	}},
	{name: "a list in a namespace that is not there is empty", run: func(t T, s *server) {
		require.Empty(t, s.get(pathIn("nowhere", "configmaps")).names())
	}},
})

var selectors = group("selectors", []check{
	{name: "label selectors know equality, sets and presence", run: func(t T, s *server) {
		for name, labels := range map[string]string{"a": "{app: web, env: test}", "b": "{app: web, env: prod}", "c": "{app: db}"} {
			s.post(s.path("configmaps"), "metadata: {name: "+name+", labels: "+labels+"}").want(201)
		}
		for selector, want := range map[string][]string{
			"app=web": {"a", "b"}, "app==db": {"c"}, "app!=web": {"c"}, "env in (test,dev)": {"a"},
			"env notin (test)": {"b", "c"}, "env": {"a", "b"}, "!env": {"c"}, "app=web,env=prod": {"b"}, "": {"a", "b", "c"},
		} {
			require.Equal(t, want, s.get(s.path("configmaps")+"?labelSelector="+url.QueryEscape(selector)).names(), selector)
		}
	}},
	{name: "a label selector that cannot be read is 400", run: func(t T, s *server) {
		s.get(s.path("configmaps")+"?labelSelector=a%3Db%3Dc").fails(400, metav1.StatusReasonBadRequest, "found '=', expected: ',' or 'end of string'")
	}},
	{name: "every kind can be selected by name and namespace", run: func(t T, s *server) {
		s.configMaps("a", "b")
		require.Equal(t, []string{"b"}, s.get(s.path("configmaps")+"?fieldSelector=metadata.name%3Db").names())
		require.Equal(t, []string{"a"}, s.get(s.path("configmaps")+"?fieldSelector=metadata.name!%3Db").names())
		require.Equal(t, []string{"a", "b"}, s.get(all("configmaps")+"?fieldSelector=metadata.namespace%3D"+s.ns).names())
		require.Equal(t, []string{"a"}, s.get(all("configmaps")+"?fieldSelector=metadata.name%3Da,metadata.namespace%3D"+s.ns).names())
	}},
	{name: "another field is 400 with the fields there are", run: func(t T, s *server) {
		for _, resource := range []string{"configmaps", "deployments", "ingresses"} {
			s.get(s.path(resource)+"?fieldSelector=data.k%3Dv").fails(400, metav1.StatusReasonBadRequest,
				`"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"`)
		}
	}},
	{name: "kinds with fields of their own say it otherwise", run: func(t T, s *server) {
		for _, resource := range []string{"pods", "services", "secrets", "events"} {
			s.get(s.path(resource)+"?fieldSelector=data.k%3Dv").fails(400, metav1.StatusReasonBadRequest, "field label not supported: data.k")
		}
	}},
	{name: "a field selector that cannot be read is 400", run: func(t T, s *server) {
		s.get(s.path("configmaps")+"?fieldSelector=foo").fails(400, metav1.StatusReasonBadRequest, "invalid selector: 'foo'; can't understand 'foo'")
	}},
	{name: "pods can be selected by node and phase", run: func(t T, s *server) {
		s.pod("a", "nodeName: n1, ")
		s.pod("b", "")
		require.Equal(t, []string{"a"}, s.get(s.path("pods")+"?fieldSelector=spec.nodeName%3Dn1").names())
		require.Equal(t, []string{"b"}, s.get(s.path("pods")+"?fieldSelector=spec.nodeName%3D").names())
		require.Equal(t, []string{"a", "b"}, s.get(s.path("pods")+"?fieldSelector=status.phase%3DPending").names())
		s.patch(s.path("pods", "b", "status"), mergePatch, "status: {phase: Running}").want(200)
		require.Equal(t, []string{"b"}, s.get(s.path("pods")+"?fieldSelector=status.phase%3DRunning").names())
	}},
	{name: "secrets can be selected by type", run: func(t T, s *server) {
		s.post(s.path("secrets"), "{metadata: {name: a}, type: example.org/key}").want(201)
		s.post(s.path("secrets"), "{metadata: {name: b}}").want(201)
		require.Equal(t, []string{"b"}, s.get(s.path("secrets")+"?fieldSelector=type%3DOpaque").names())
	}},
	{name: "namespaces can be selected by phase", run: func(t T, s *server) {
		got := s.get("/api/v1/namespaces?fieldSelector=status.phase%3DActive").names()
		require.Contains(t, got, s.ns)
	}},
})

// pod creates a Pod; spec is more of it, ending in a comma.
func (s *server) pod(name, spec string) *response {
	s.t.Helper()
	return s.post(s.path("pods"), "{metadata: {name: "+name+"}, spec: {"+spec+"containers: [{name: c, image: i}]}}").want(201)
}

// invalidList is a check that a list with that query is refused for one cause.
func invalidList(query, cause string) func(t T, s *server) {
	return func(t T, s *server) {
		status := s.get(s.path("configmaps")+"?"+query).fails(422, metav1.StatusReasonInvalid, `ListOptions.meta.k8s.io "" is invalid: …`)
		require.Equal(t, []string{cause}, causes(status))
		details(t, status, "", "meta.k8s.io", "ListOptions")
	}
}

func number(t T, version string) int64 {
	n, err := strconv.ParseInt(version, 10, 64)
	require.NoError(t, err)
	return n
}
