package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	acceptProtobuf = "Accept: application/vnd.kubernetes.protobuf"
	acceptTable    = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"
	acceptPartial  = "Accept: application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	acceptPartials = "Accept: application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

var events = group("watch events", []check{
	{name: "each change is one event, in the order of versions", run: func(t T, s *server) {
		w := s.watch(s.path("configmaps"))
		var want, got []string
		for _, name := range strings.Fields("a b a c b a") {
			out := s.do("POST", s.path("configmaps"), `{"metadata":{"name":"`+name+`"}}`)
			if out.code == 409 {
				out = s.patch(s.path("configmaps", name), mergePatch, "data: {at: '"+strconv.Itoa(len(want))+"'}").want(200)
			}
			want = append(want, name+" "+out.version())
		}
		for range want {
			e, ok := w.next()
			require.True(t, ok)
			got = append(got, e.meta(t).Name+" "+e.version(t))
		}
		require.Equal(t, want, got)
	}},
	{name: "an event has the object as the writer got it", run: func(t T, s *server) {
		w := s.watch(s.path("configmaps"))
		made := s.configMaps("a")
		require.JSONEq(t, string(made.body), string(w.expect("ADDED a").Object))
		changed := s.patch(s.path("configmaps", "a"), mergePatch, "data: {k: w}").want(200)
		require.JSONEq(t, string(changed.body), string(w.expect("MODIFIED a").Object))
	}},
	{name: "a deletion has the last state with a new version", run: func(t T, s *server) {
		made := s.configMaps("a")
		w := s.watch(s.path("configmaps") + "?resourceVersion=" + made.version())
		s.delete(s.path("configmaps", "a"), "").want(200)
		e := w.expect("DELETED a")
		require.Greater(t, number(t, e.version(t)), number(t, made.version()))
		require.Equal(t, made.meta().UID, e.meta(t).UID)
		require.Contains(t, string(e.Object), `"data":{"k":"v"}`)
	}},
	{name: "an update that changes nothing is no event", run: func(t T, s *server) {
		made := s.configMaps("a")
		w := s.watch(s.path("configmaps") + "?resourceVersion=" + made.version())
		require.Equal(t, made.version(), s.do("PUT", s.path("configmaps", "a"), string(made.body)).want(200).version())
		require.Equal(t, made.version(), s.patch(s.path("configmaps", "a"), mergePatch, "data: {k: v}").want(200).version())
		s.configMaps("b")
		w.expect("ADDED b")
	}},
	{name: "a dry run is no event", run: func(t T, s *server) {
		version := s.configMaps("a").version()
		w := s.watch(s.path("configmaps") + "?resourceVersion=" + version)
		s.post(s.path("configmaps")+"?dryRun=All", "metadata: {name: x}").want(201)
		s.patch(s.path("configmaps", "a")+"?dryRun=All", mergePatch, "data: {k: w}").want(200)
		s.delete(s.path("configmaps", "a")+"?dryRun=All", "").want(200)
		s.configMaps("b")
		w.expect("ADDED b")
	}},
	{name: "to enter a label selector is ADDED, to leave it DELETED", run: func(t T, s *server) {
		s.configMaps("a")
		w := s.watch(s.path("configmaps") + "?labelSelector=app%3Dweb")
		label := func(value string) *response {
			return s.patch(s.path("configmaps", "a"), mergePatch, "metadata: {labels: {app: "+value+"}}").want(200)
		}
		label("web")
		w.expect("ADDED a")
		s.patch(s.path("configmaps", "a"), mergePatch, "data: {k: w}").want(200)
		w.expect("MODIFIED a")
		left := label("db")
		e := w.expect("DELETED a")
		require.Equal(t, left.version(), e.version(t), "the version of the change")
		require.Equal(t, map[string]string{"app": "web"}, e.meta(t).Labels, "the last state that the selector matched")
		label("web")
		w.expect("ADDED a")
		s.delete(s.path("configmaps", "a"), "").want(200)
		w.expect("DELETED a")
	}},
	{name: "what a selector never matched is not seen to go", run: func(t T, s *server) {
		s.configMaps("a")
		w := s.watch(s.path("configmaps") + "?labelSelector=app%3Dweb")
		s.delete(s.path("configmaps", "a"), "").want(200)
		s.post(s.path("configmaps"), "metadata: {name: b, labels: {app: web}}").want(201)
		w.expect("ADDED b")
	}},
	{name: "to leave a field selector is DELETED", run: func(t T, s *server) {
		s.pod("a", "")
		w := s.watch(s.path("pods") + "?fieldSelector=status.phase%3DPending")
		w.expect("ADDED a")
		s.patch(s.path("pods", "a", "status"), mergePatch, "status: {phase: Running}").want(200)
		require.Contains(t, string(w.expect("DELETED a").Object), `"phase":"Pending"`)
	}},
	{name: "one object is watched by its name", run: func(t T, s *server) {
		s.configMaps("a", "b")
		w := s.watch(s.path("configmaps") + "?fieldSelector=metadata.name%3Db")
		w.expect("ADDED b")
		s.delete(s.path("configmaps", "a"), "").want(200)
		s.delete(s.path("configmaps", "b"), "").want(200)
		w.expect("DELETED b")
	}},
	{name: "a watch of a namespace sees no other", run: func(t T, s *server) {
		other := s.newNamespace()
		w := s.watch(pathIn(other, "configmaps"))
		s.configMaps("a")
		s.post(pathIn(other, "configmaps"), "metadata: {name: b}").want(201)
		w.expect("ADDED b")
	}},
	{name: "a change of status is an event", run: func(t T, s *server) {
		s.pod("a", "")
		w := s.watch(s.path("pods"))
		w.expect("ADDED a")
		changed := s.patch(s.path("pods", "a", "status"), mergePatch, "status: {phase: Running}").want(200)
		require.Equal(t, changed.version(), w.expect("MODIFIED a").version(t))
	}},
	{name: "a bad selector is refused before the watch begins", run: func(t T, s *server) {
		s.get(s.path("configmaps")+"?watch=true&labelSelector=a%3Db%3Dc").fails(400, metav1.StatusReasonBadRequest,
			"found '=', expected: ',' or 'end of string'")
		s.get(s.path("configmaps")+"?watch=true&fieldSelector=data.k%3Dv").fails(400, metav1.StatusReasonBadRequest,
			`"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"`)
	}},
	{name: "in JSON a watch is a line for each event", run: func(t T, s *server) {
		s.configMaps("a")
		w := s.watch(s.path("configmaps") + streaming)
		require.Equal(t, "application/json", w.header.Get("Content-Type"))
		line, err := w.body.ReadString('\n')
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(line, `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a",`), line)
		w.expect("BOOKMARK")
	}},
	{name: "in protobuf a watch is frames of length and WatchEvent", run: func(t T, s *server) {
		s.configMaps("a")
		w := s.watch(s.path("configmaps")+streaming, acceptProtobuf)
		require.Equal(t, "application/vnd.kubernetes.protobuf;stream=watch", w.header.Get("Content-Type"))
		kind, obj := watchEvent(t, w.frame())
		require.Equal(t, "ADDED", kind)
		cm := &corev1.ConfigMap{}
		protobufInto(t, obj, "ConfigMap", cm)
		require.Equal(t, "a", cm.Name)
		require.Equal(t, map[string]string{"k": "v"}, cm.Data)
		kind, obj = watchEvent(t, w.frame())
		require.Equal(t, "BOOKMARK", kind)
		mark := &corev1.ConfigMap{}
		protobufInto(t, obj, "ConfigMap", mark)
		require.Equal(t, "true", mark.Annotations[metav1.InitialEventsAnnotationKey])
	}},
	{name: "YAML is no format for a watch", run: func(t T, s *server) {
		got := s.get(s.path("configmaps")+"?watch=true", "Accept: application/yaml").want(406)
		require.Contains(t, string(got.body), "application/json;stream=watch")
	}},
	{name: "a watch of Tables sends the columns once", run: func(t T, s *server) {
		s.configMaps("a")
		w := s.watch(s.path("configmaps"), acceptTable)
		columns := func() int {
			e, ok := w.next()
			require.True(t, ok)
			table := &metav1.Table{}
			require.NoError(t, json.Unmarshal(e.Object, table))
			require.Equal(t, "Table", table.Kind)
			require.Len(t, table.Rows, 1)
			return len(table.ColumnDefinitions)
		}
		require.NotZero(t, columns())
		s.configMaps("b")
		require.Zero(t, columns())
	}},
	{name: "a watch of metadata has no data", run: func(t T, s *server) {
		made := s.configMaps("a")
		w := s.watch(s.path("configmaps"), acceptPartial)
		e := w.expect("ADDED a")
		require.Equal(t, metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}, e.meta(t).TypeMeta)
		require.Equal(t, made.version(), e.version(t))
		require.NotContains(t, string(e.Object), `"data"`)
	}},
	{name: "a watch that nobody reads holds up no writer", run: func(t T, s *server) {
		s.watch(s.path("configmaps"))
		s.configMaps("a")
		for i := range 20 {
			s.patch(s.path("configmaps", "a"), mergePatch, "data: {k: '"+strconv.Itoa(i)+strings.Repeat("x", 20_000)+"'}").want(200)
		}
	}},
	{name: "two watches see the same", run: func(t T, s *server) {
		a, b := s.watch(s.path("configmaps")), s.watch(s.path("configmaps"))
		s.configMaps("x")
		require.JSONEq(t, string(a.expect("ADDED x").Object), string(b.expect("ADDED x").Object))
	}},
})

// protobufInto takes the envelope "k8s\0" and Unknown off.
func protobufInto(t T, data []byte, kind string, into interface{ Unmarshal([]byte) error }) {
	raw, ok := bytes.CutPrefix(data, []byte("k8s\x00"))
	require.True(t, ok, "%q", data)
	unknown := &runtime.Unknown{}
	require.NoError(t, unknown.Unmarshal(raw))
	require.Equal(t, kind, unknown.Kind)
	require.NoError(t, into.Unmarshal(unknown.Raw))
}

// watchEvent reads a frame's type and object; a frame has no envelope of its own.
func watchEvent(t T, frame []byte) (kind string, object []byte) {
	e := &metav1.WatchEvent{}
	if raw, ok := bytes.CutPrefix(frame, []byte("k8s\x00")); ok {
		unknown := &runtime.Unknown{}
		require.NoError(t, unknown.Unmarshal(raw))
		frame = unknown.Raw
	}
	require.NoError(t, e.Unmarshal(frame))
	return e.Type, e.Object.Raw
}
