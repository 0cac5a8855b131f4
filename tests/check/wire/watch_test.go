package wire

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const streaming = "?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

var starts = group("watch starts", []check{
	{name: "without a version it begins with what there is", run: func(t T, s *server) {
		s.configMaps("a", "b")
		w := s.watch(s.path("configmaps"))
		w.unordered("ADDED a", "ADDED b")
		s.configMaps("c")
		w.expect("ADDED c")
	}},
	{name: "from version 0 it begins with what there is", run: func(t T, s *server) {
		s.configMaps("a")
		s.eventually("version 0 shows the object", func() bool {
			return len(s.get(s.path("configmaps")+"?resourceVersion=0").names()) == 1
		})
		w := s.watch(s.path("configmaps") + "?resourceVersion=0")
		w.expect("ADDED a")
		s.configMaps("b")
		w.expect("ADDED b")
	}},
	{name: "from a version it begins after it", run: func(t T, s *server) {
		version := s.configMaps("a").version()
		s.configMaps("b")
		s.delete(s.path("configmaps", "a"), "").want(200)
		s.watch(s.path("configmaps")+"?resourceVersion="+version).expect("ADDED b", "DELETED a")
	}},
	{name: "from the version of a list it misses nothing and repeats nothing", run: func(t T, s *server) {
		s.configMaps("a")
		version := s.get(s.path("configmaps")).version()
		w := s.watch(s.path("configmaps") + "?resourceVersion=" + version)
		s.configMaps("b")
		w.expect("ADDED b")
	}},
	{name: "from a version in the future it is silent until then", run: func(t T, s *server) {
		w := s.watch(s.path("configmaps") + "?timeoutSeconds=1&resourceVersion=" + far)
		s.configMaps("a")
		w.expect("end")
	}},
	{name: "a version that is no number is refused before the watch begins", run: func(t T, s *server) {
		s.get(s.path("configmaps")+"?watch=true&resourceVersion=abc").fails(500, "",
			`resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`)
	}},
	{name: "a version before the history is 410 as an ERROR in a watch that began", run: func(t T, s *server) {
		d := s.define("", "")
		w := s.watch(d.path(s.ns) + "?resourceVersion=" + ancient)
		status := w.expect("ERROR").status(t)
		failed(t, status, metav1.StatusReasonExpired, "too old resource version: "+ancient+" (…")
		require.EqualValues(t, 410, status.Code)
		w.expect("end")
	}},
	{name: "sendInitialEvents needs a match", run: invalidWatch("sendInitialEvents=true",
		"FieldValueForbidden resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")},
	{name: "a match needs sendInitialEvents", run: invalidWatch("resourceVersionMatch=NotOlderThan&resourceVersion=1",
		"FieldValueForbidden resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")},
	{name: "a watch cannot be exact", run: invalidWatch("sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1",
		"FieldValueForbidden resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
		`FieldValueNotSupported resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"`)},
	{name: "a streaming list cannot be continued", run: invalidWatch("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x",
		"FieldValueForbidden resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided")},
	{name: "a streaming list ends its list with a bookmark that says so", run: func(t T, s *server) {
		s.configMaps("a", "b")
		last := s.configMaps("c").version()
		w := s.watch(s.path("configmaps") + streaming)
		w.unordered("ADDED a", "ADDED b", "ADDED c")
		mark := w.expect("BOOKMARK").meta(t)
		require.Equal(t, map[string]string{metav1.InitialEventsAnnotationKey: "true"}, mark.Annotations)
		require.GreaterOrEqual(t, number(t, mark.ResourceVersion), number(t, last))
		s.configMaps("d")
		w.expect("ADDED d")
	}},
	{name: "a streaming list of nothing is the bookmark only", run: func(t T, s *server) {
		w := s.watch(s.path("configmaps") + streaming + "&resourceVersion=0")
		require.Contains(t, w.expect("BOOKMARK").meta(t).Annotations, metav1.InitialEventsAnnotationKey)
	}},
	{name: "a streaming list without bookmarks has none", run: func(t T, s *server) {
		s.configMaps("a")
		w := s.watch(s.path("configmaps") + "?sendInitialEvents=true&resourceVersionMatch=NotOlderThan")
		w.expect("ADDED a")
		s.configMaps("b")
		w.expect("ADDED b")
	}},
	{name: "a streaming list heeds selectors", run: func(t T, s *server) {
		s.configMaps("a", "b")
		s.watch(s.path("configmaps")+streaming+"&fieldSelector=metadata.name%3Db").expect("ADDED b", "BOOKMARK")
	}},
	{name: "a streaming list from a version is at least that fresh", run: func(t T, s *server) {
		last := s.configMaps("a").version()
		w := s.watch(s.path("configmaps") + streaming + "&resourceVersion=" + last)
		w.expect("ADDED a")
		require.GreaterOrEqual(t, number(t, w.expect("BOOKMARK").version(t)), number(t, last))
	}},
	{name: "sendInitialEvents=false begins with the future", run: func(t T, s *server) {
		s.configMaps("a")
		w := s.watch(s.path("configmaps") + strings.Replace(streaming, "true", "false", 1))
		s.configMaps("b")
		w.expect("ADDED b")
	}},
	{name: "a streaming list of a version in the future is an ERROR of code 504", run: func(t T, s *server) {
		w := s.watch(s.path("configmaps") + streaming + "&resourceVersion=" + far)
		status := w.expect("ERROR").status(t)
		failed(t, status, metav1.StatusReasonTimeout, "Timeout: Too large resource version: "+far+", current: …")
		require.Equal(t, []string{"ResourceVersionTooLarge : Too large resource version"}, causes(status))
		require.EqualValues(t, 504, status.Code)
	}},
	{name: "a watch without a version is a streaming list, bookmark and all", run: func(t T, s *server) {
		s.configMaps("a")
		for _, version := range []string{"", "0"} {
			s.eventually("version 0 shows the object", func() bool { return len(s.get(s.path("configmaps")+"?resourceVersion=0").names()) == 1 })
			w := s.watch(s.path("configmaps") + "?allowWatchBookmarks=true&resourceVersion=" + version)
			w.expect("ADDED a", "BOOKMARK")
			require.Contains(t, w.last.meta(t).Annotations, metav1.InitialEventsAnnotationKey)
		}
	}},
	{name: "a watch without a version cannot be continued", run: invalidWatch("continue=x",
		"FieldValueForbidden resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided")},
	{name: "a limit does not end a watch's list", run: func(t T, s *server) {
		s.configMaps("a", "b")
		s.watch(s.path("configmaps")+"?limit=1").unordered("ADDED a", "ADDED b")
	}},
	{name: "watch=1 and an empty watch are watches", run: func(t T, s *server) {
		s.configMaps("a")
		for _, query := range []string{"?watch=1", "?watch"} {
			s.open(s.path("configmaps") + query).expect("ADDED a")
		}
	}},
	{name: "watch=false is a list", run: func(t T, s *server) {
		require.Equal(t, "ConfigMapList", s.get(s.path("configmaps")+"?watch=false").list().Kind)
	}},
	{name: "to get one object is not to watch it", run: func(t T, s *server) {
		s.configMaps("a")
		require.Equal(t, "a", s.get(s.path("configmaps", "a")+"?watch=true").want(200).meta().Name)
	}},
	{name: "the paths with /watch still work", run: func(t T, s *server) {
		s.configMaps("a", "b")
		for path, want := range map[string]string{
			"/api/v1/watch/namespaces/" + s.ns + "/configmaps":                           "a b",
			"/api/v1/watch/namespaces/" + s.ns + "/configmaps/b":                         "b",
			"/api/v1/watch/configmaps?fieldSelector=metadata.namespace%3D" + s.ns:        "a b",
			"/api/v1/watch/namespaces/" + s.ns:                                           s.ns,
			"/apis/apps/v1/watch/deployments?fieldSelector=metadata.namespace%3D" + s.ns: "",
			"/api/v1/watch/namespaces?fieldSelector=metadata.name%3D" + s.ns:             s.ns,
		} {
			w := s.watch(path)
			lines := []string{}
			for _, name := range strings.Fields(want) {
				lines = append(lines, "ADDED "+name)
			}
			w.unordered(lines...)
		}
	}},
	{name: "a watch ends with its timeout, cleanly", run: func(t T, s *server) {
		began := time.Now()
		s.watch(s.path("configmaps") + "?timeoutSeconds=1").expect("end")
		require.GreaterOrEqual(t, time.Since(began), 900*time.Millisecond)
	}},
	{name: "a timeout that is no number is 400", run: func(t T, s *server) {
		s.get(s.path("configmaps")+"?watch=true&timeoutSeconds=x").fails(400, metav1.StatusReasonBadRequest,
			`strconv.ParseInt: parsing "x": invalid syntax`)
	}},
	{name: "a bookmark comes before the timeout", run: func(t T, s *server) {
		made := s.configMaps("a").version()
		// A real server sends it two seconds before the timeout, and drops it if it is late itself: hence several tries.
		seen := 0
		for range 8 {
			w := s.watch(s.path("configmaps") + "?timeoutSeconds=4&allowWatchBookmarks=true&resourceVersion=" + made)
			for e, ok := w.next(); ok; e, ok = w.next() {
				require.Equal(t, "BOOKMARK", e.Type)
				mark := e.meta(t)
				require.Equal(t, metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, mark.TypeMeta)
				require.Empty(t, mark.Name)
				require.Empty(t, mark.Annotations)
				require.GreaterOrEqual(t, number(t, mark.ResourceVersion), number(t, made))
				seen++
			}
			if seen > 0 {
				return
			}
		}
		require.Fail(t, "no bookmark")
	}},
	{name: "without leave there are no bookmarks", run: func(t T, s *server) {
		made := s.configMaps("a").version()
		s.watch(s.path("configmaps") + "?timeoutSeconds=4&resourceVersion=" + made).expect("end")
	}},
})

// unordered is expect for events that may come in any order.
func (w *stream) unordered(lines ...string) {
	w.t.Helper()
	got := []string{}
	for range lines {
		e, ok := w.next()
		got = append(got, e.line(w.t, ok))
	}
	slices.Sort(got)
	slices.Sort(lines)
	require.Equal(w.t, lines, got)
}

// invalidWatch is a check that a watch with that query is refused for those causes.
func invalidWatch(query string, want ...string) func(t T, s *server) {
	return func(t T, s *server) {
		status := s.get(fmt.Sprintf("%s?watch=true&%s", s.path("configmaps"), query)).
			fails(422, metav1.StatusReasonInvalid, `ListOptions.meta.k8s.io "" is invalid: …`)
		require.Equal(t, want, causes(status))
	}
}
