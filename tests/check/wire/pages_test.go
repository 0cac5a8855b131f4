package wire

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// page asks for a page of the check's ConfigMaps; token may be empty.
func (s *server) page(limit int, token string) *response {
	s.t.Helper()
	return s.get(fmt.Sprintf("%s?limit=%d&continue=%s", s.path("configmaps"), limit, url.QueryEscape(token)))
}

func token(json string) string { return base64.RawURLEncoding.EncodeToString([]byte(json)) }

var pages = group("pages", []check{
	{name: "pages are parts of one list", run: func(t T, s *server) {
		s.configMaps("a", "b", "c", "d", "e")
		var names []string
		var versions []string
		next := ""
		for {
			got := s.page(2, next)
			names, versions = append(names, got.names()...), append(versions, got.version())
			if next = got.list().Continue; next == "" {
				break
			}
		}
		require.Equal(t, []string{"a", "b", "c", "d", "e"}, names)
		require.Equal(t, []string{versions[0], versions[0], versions[0]}, versions)
	}},
	{name: "a page counts what remains", run: func(t T, s *server) {
		s.configMaps("a", "b", "c", "d", "e")
		first := s.page(2, "").list()
		require.Equal(t, new(int64(3)), first.RemainingItemCount)
		second := s.page(2, first.Continue).list()
		require.Equal(t, new(int64(1)), second.RemainingItemCount)
		require.Nil(t, s.page(2, second.Continue).list().RemainingItemCount)
	}},
	{name: "a list that fits has no continue", run: func(t T, s *server) {
		s.configMaps("a", "b")
		got := s.page(2, "").list()
		require.Empty(t, got.Continue)
		require.Nil(t, got.RemainingItemCount)
	}},
	{name: "later pages show the moment of the first", run: func(t T, s *server) {
		s.configMaps("a", "b", "d")
		first := s.page(1, "")
		s.configMaps("c")
		s.delete(s.path("configmaps", "d"), "").want(200)
		changed := s.patch(s.path("configmaps", "b"), mergePatch, "data: {k: w}").want(200).version()
		rest := s.page(9, first.list().Continue)
		require.Equal(t, []string{"b", "d"}, rest.names())
		require.NotEqual(t, changed, rest.list().Items[0].ResourceVersion)
		require.Equal(t, first.version(), rest.version())
	}},
	{name: "pages with a selector are full and do not count", run: func(t T, s *server) {
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			app := map[bool]string{true: "x", false: "z"}[name == "b" || name == "d"]
			s.post(s.path("configmaps"), "metadata: {name: "+name+", labels: {app: "+app+"}}").want(201)
		}
		first := s.get(s.path("configmaps") + "?limit=2&labelSelector=app%3Dz")
		require.Equal(t, []string{"a", "c"}, first.names())
		require.Nil(t, first.list().RemainingItemCount)
		rest := s.get(s.path("configmaps") + "?limit=2&labelSelector=app%3Dz&continue=" + url.QueryEscape(first.list().Continue))
		require.Equal(t, []string{"e"}, rest.names())
	}},
	{name: "the page size may change on the way", run: func(t T, s *server) {
		s.configMaps("a", "b", "c", "d")
		first := s.page(1, "").list()
		require.Equal(t, []string{"b", "c"}, s.page(2, first.Continue).names())
		require.Equal(t, []string{"b", "c", "d"}, s.page(0, first.Continue).names())
	}},
	{name: "a continue token can be used again", run: func(t T, s *server) {
		s.configMaps("a", "b", "c")
		next := s.page(1, "").list().Continue
		require.Equal(t, s.page(1, next).names(), s.page(1, next).names())
	}},
	{name: "pages span namespaces", run: func(t T, s *server) {
		other := s.newNamespace()
		for _, ns := range []string{s.ns, other} {
			s.post(pathIn(ns, "configmaps"), "metadata: {name: "+ns+", labels: {of: "+s.ns+"}}").want(201)
		}
		path := all("configmaps") + "?limit=1&labelSelector=of%3D" + s.ns
		first := s.get(path)
		second := s.get(path + "&continue=" + url.QueryEscape(first.list().Continue))
		require.Equal(t, []string{min(s.ns, other), max(s.ns, other)}, append(first.names(), second.names()...))
	}},
	{name: "continue excludes a version", run: func(t T, s *server) {
		s.configMaps("a", "b")
		next := s.page(1, "").list().Continue
		s.get(s.path("configmaps")+"?resourceVersion=1&continue="+url.QueryEscape(next)).fails(400, metav1.StatusReasonBadRequest,
			"specifying resource version is not allowed when using continue")
		require.Equal(t, []string{"b"}, s.get(s.path("configmaps")+"?resourceVersion=0&continue="+url.QueryEscape(next)).names())
	}},
	{name: "continue excludes a match", run: invalidList("resourceVersionMatch=Exact&resourceVersion=1&continue=x",
		"FieldValueForbidden resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided")},
	{name: "a token that is no base64 is 400", run: func(t T, s *server) {
		s.page(1, "%%").fails(400, metav1.StatusReasonBadRequest, "invalid continue token: continue key is not valid: illegal base64 data at input byte 0")
	}},
	{name: "a token that is no JSON is 400", run: func(t T, s *server) {
		s.page(1, "abc").fails(400, metav1.StatusReasonBadRequest,
			"invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value")
	}},
	{name: "a token that lacks something is 400", run: func(t T, s *server) {
		for content, message := range map[string]string{
			`{"v":"meta.k8s.io/v1","rv":0,"start":"a"}`:       "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
			`{"v":"meta.k8s.io/v1","rv":5,"start":""}`:        "encoded start key empty (version meta.k8s.io/v1)",
			`{"v":"meta.k8s.io/v2","rv":5,"start":"a"}`:       "server does not recognize this encoded version meta.k8s.io/v2",
			`{"v":"meta.k8s.io/v1","rv":5,"start":"../../a"}`: "../../a",
		} {
			s.page(1, token(content)).fails(400, metav1.StatusReasonBadRequest, "invalid continue token: continue key is not valid: "+message)
		}
	}},
	{name: "a token of revision -1 goes on with what is there now", run: func(t T, s *server) {
		s.configMaps("a", "b", "c")
		got := s.page(5, token(`{"v":"meta.k8s.io/v1","rv":-1,"start":"b"}`))
		require.Equal(t, []string{"b", "c"}, got.names())
	}},
	{name: "an expired token is 410 with a token that goes on", run: func(t T, s *server) {
		d := s.define("", "")
		create := func(names ...string) {
			for _, name := range names {
				s.post(d.path(s.ns), d.object(name, "size: 1")).want(201)
			}
		}
		page := func(limit int, token string) *response {
			return s.get(fmt.Sprintf("%s?limit=%d&continue=%s", d.path(s.ns), limit, url.QueryEscape(token)))
		}
		create("a", "b", "d")
		first := page(1, "")
		content, err := base64.RawURLEncoding.DecodeString(first.list().Continue)
		require.NoError(t, err)
		old := strings.Replace(string(content), `"rv":`+first.version(), `"rv":`+ancient, 1)
		create("c")
		status := page(1, token(old)).fails(410, metav1.StatusReasonExpired, "The provided continue parameter is too old to display a consistent list result. "+
			"You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "+
			"Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time "+
			"the first chunk was returned and now may show up in the list.")
		rest := page(1, status.Continue)
		require.Equal(t, []string{"b"}, rest.names())
		require.Equal(t, []string{"c", "d"}, page(9, rest.list().Continue).names())
	}},
	{name: "an exact list of an expired version is 410", run: func(t T, s *server) {
		d := s.define("", "")
		for _, query := range []string{"?resourceVersionMatch=Exact&resourceVersion=", "?limit=5&resourceVersion="} {
			s.get(d.path(s.ns)+query+ancient).fails(410, metav1.StatusReasonExpired, "The resourceVersion for the provided list is too old.")
		}
		s.get(d.path(s.ns) + "?resourceVersion=" + ancient).want(200)
	}},
})
