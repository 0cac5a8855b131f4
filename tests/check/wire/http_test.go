package wire

import (
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

const notFound = "the server could not find the requested resource"

var paths = group("paths", []check{
	{name: "an unknown path is 404 in plain text", run: func(t T, s *server) {
		for _, path := range []string{"/nope", "/apis/nope.example.org", "/apis/nope.example.org/v1/nopes"} {
			got := s.get(path).want(404)
			require.Equal(t, "404 page not found\n", string(got.body))
			require.Equal(t, "text/plain; charset=utf-8", got.header.Get("Content-Type"))
		}
	}},
	{name: "in a known group, what is unknown is 404 as a Status", run: func(t T, s *server) {
		for _, path := range []string{"/api/v1/nopes", "/api/v2", "/apis/apps/v1/nopes", "/apis/apps/v2", "/apis/apps/v2/deployments",
			s.path("configmaps", "a", "nope"), s.path("deployments", "x/y/z")} {
			status := s.get(path).fails(404, metav1.StatusReasonNotFound, notFound)
			require.Equal(t, &metav1.StatusDetails{}, status.Details)
		}
	}},
	{name: "an unknown object is 404 with its name", run: func(t T, s *server) {
		details(t, s.get(s.path("configmaps", "a")).fails(404, metav1.StatusReasonNotFound, `configmaps "a" not found`), "a", "", "configmaps")
		details(t, s.get("/api/v1/namespaces/nope").fails(404, metav1.StatusReasonNotFound, `namespaces "nope" not found`), "nope", "", "namespaces")
	}},
	{name: "a method that a path does not have is 405", run: func(t T, s *server) {
		s.configMaps("a")
		for _, ask := range []struct{ method, path string }{
			{"PUT", s.path("configmaps")}, {"POST", s.path("configmaps", "a")}, {"PATCH", s.path("configmaps")},
			{"HEAD", s.path("configmaps", "a")}, {"OPTIONS", s.path("configmaps", "a")}, {"DELETE", all("configmaps")},
		} {
			got := s.do(ask.method, ask.path, "").want(405)
			if ask.method != "HEAD" {
				got.fails(405, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource")
			}
		}
	}},
	{name: "get takes a version, which is the least one", run: func(t T, s *server) {
		made := s.configMaps("a")
		for _, version := range []string{"", "0", made.version()} {
			s.eventually("version "+version+" shows the object", func() bool {
				return s.get(s.path("configmaps", "a")+"?resourceVersion="+version).code == 200
			})
		}
		s.get(s.path("configmaps", "a")+"?resourceVersion="+far).fails(504, metav1.StatusReasonTimeout, "Timeout: Too large resource version: "+far+", current: …")
		s.get(s.path("configmaps", "a")+"?resourceVersion=abc").fails(500, "", `resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`)
	}},
	{name: "HTTP/1.1 and HTTP/2 give the same", run: func(t T, s *server) {
		made := s.configMaps("a")
		for major, next := range map[int][]string{1: {"http/1.1"}, 2: {"h2"}} {
			config := rest.CopyConfig(s.config)
			config.NextProtos = next
			client, err := rest.HTTPClientFor(config)
			require.NoError(t, err)
			if strings.HasPrefix(config.Host, "http:") && major == 2 {
				protocols := new(http.Protocols)
				protocols.SetUnencryptedHTTP2(true)
				client = &http.Client{Transport: &http.Transport{DialContext: config.Dial, Protocols: protocols}}
			}
			t.Cleanup(client.CloseIdleConnections)
			other := &server{target: &target{config: config, client: client}, t: t, ns: s.ns}
			got := other.get(s.path("configmaps", "a")).want(200)
			require.Equal(t, major, got.proto)
			require.JSONEq(t, string(made.body), string(got.body))
			w := other.watch(s.path("configmaps"))
			w.expect("ADDED a")
		}
	}},
	{name: "answers are not to be cached", run: func(t T, s *server) {
		require.Equal(t, "no-cache, private", s.get(s.path("configmaps")).header.Get("Cache-Control"))
	}},
})

var formats = group("formats", []check{
	{name: "JSON is the default", run: func(t T, s *server) {
		s.configMaps("a")
		for _, accept := range []string{"", "*/*", "application/json", "text/html, application/*, */*"} {
			got := s.get(s.path("configmaps", "a"), "Accept: "+accept)
			require.Equal(t, "application/json", got.want(200).header.Get("Content-Type"))
			require.True(t, strings.HasPrefix(string(got.body), `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"`), "%s", got.body)
		}
	}},
	{name: "protobuf has an envelope", run: func(t T, s *server) {
		s.configMaps("a")
		got := s.get(s.path("configmaps"), acceptProtobuf).want(200)
		require.Equal(t, "application/vnd.kubernetes.protobuf", got.header.Get("Content-Type"))
		list := &corev1.ConfigMapList{}
		protobufInto(t, got.body, "ConfigMapList", list)
		require.Equal(t, "a", list.Items[0].Name)
		require.NotEmpty(t, list.ResourceVersion)
	}},
	{name: "protobuf is taken", run: func(t T, s *server) {
		info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
		body, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}})
		require.NoError(t, err)
		got := s.do("POST", s.path("configmaps"), string(body), "Content-Type: application/vnd.kubernetes.protobuf", "Accept: application/json").want(201)
		require.Equal(t, "v", got.at("data", "k"))
	}},
	{name: "broken protobuf is 400", run: func(t T, s *server) {
		for body, message := range map[string]string{
			"garbage":        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]…",
			"k8s\x00garbage": "proto: illegal wireType 7…",
		} {
			s.do("POST", s.path("configmaps"), body, "Content-Type: application/vnd.kubernetes.protobuf").fails(400, metav1.StatusReasonBadRequest,
				"the object provided is unrecognized (must be of type ConfigMap): "+message)
		}
	}},
	{name: "errors come in the format that was asked for", run: func(t T, s *server) {
		got := s.get(s.path("configmaps", "a"), acceptProtobuf).want(404)
		status := &metav1.Status{}
		protobufInto(t, got.body, "Status", status)
		require.Equal(t, metav1.StatusReasonNotFound, status.Reason)
		got = s.get(s.path("configmaps", "a"), "Accept: application/yaml").want(404)
		require.Contains(t, string(got.body), "reason: NotFound\n")
		s.get(s.path("configmaps", "a"), acceptTable).fails(404, metav1.StatusReasonNotFound, `configmaps "a" not found`)
	}},
	{name: "YAML is given and taken", run: func(t T, s *server) {
		s.do("POST", s.path("configmaps"), "metadata:\n  name: a\ndata: {k: v}\n", "Content-Type: application/yaml").want(201)
		got := s.get(s.path("configmaps", "a"), "Accept: application/yaml").want(200)
		require.Equal(t, "application/yaml", got.header.Get("Content-Type"))
		require.True(t, strings.HasPrefix(string(got.body), "apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\n"), "%s", got.body)
	}},
	{name: "of several formats the first that is known wins", run: func(t T, s *server) {
		s.configMaps("a")
		for accept, want := range map[string]string{
			"text/html, application/yaml, application/json":                                   "application/yaml",
			"application/json;q=0.1, application/yaml":                                        "application/yaml",
			"application/vnd.kubernetes.protobuf, application/json":                           "application/vnd.kubernetes.protobuf",
			"application/json;as=Table;v=v9;g=meta.k8s.io, application/yaml":                  "application/yaml",
			"application/json;as=Table;v=v1;g=meta.k8s.io, application/yaml;q=0.5, */*;q=0.1": "application/json",
		} {
			require.Equal(t, want, s.get(s.path("configmaps", "a"), "Accept: "+accept).want(200).header.Get("Content-Type"), accept)
		}
	}},
	{name: "formats that are not known are 406", run: func(t T, s *server) {
		s.configMaps("a")
		for _, accept := range []string{"text/html", "application/*", "application/cbor"} {
			s.get(s.path("configmaps", "a"), "Accept: "+accept).fails(406, metav1.StatusReasonNotAcceptable,
				"406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf")
		}
		s.get(s.path("configmaps", "a"), "Accept: application/json;as=Nope;v=v1;g=meta.k8s.io").fails(406, metav1.StatusReasonNotAcceptable,
			"only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf")
	}},
	{name: "bodies of an unknown format are 415", run: func(t T, s *server) {
		for _, contentType := range []string{"text/plain", "foo"} {
			s.do("POST", s.path("configmaps"), "{}", "Content-Type: "+contentType).fails(415, metav1.StatusReasonUnsupportedMediaType,
				"the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf")
		}
	}},
	{name: "a body without a type is JSON", run: func(t T, s *server) {
		s.do("POST", s.path("configmaps"), `{"metadata":{"name":"a"}}`, "Content-Type: ").want(201)
	}},
	{name: "parameters of a type are ignored", run: func(t T, s *server) {
		s.do("POST", s.path("configmaps"), `{"metadata":{"name":"a"}}`, "Content-Type: application/json; charset=utf-8").want(201)
	}},
	{name: "a Table has cells and metadata", run: func(t T, s *server) {
		s.configMaps("a", "b")
		for path, rows := range map[string]int{s.path("configmaps"): 2, s.path("configmaps", "a"): 1} {
			table := &metav1.Table{}
			s.get(path, acceptTable).want(200).into(table)
			require.Equal(t, metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"}, table.TypeMeta)
			require.NotEmpty(t, table.ResourceVersion)
			columns := []string{}
			for _, c := range table.ColumnDefinitions {
				columns = append(columns, c.Name)
			}
			require.Equal(t, []string{"Name", "Data", "Age"}, columns)
			require.Equal(t, "name", table.ColumnDefinitions[0].Format)
			require.Len(t, table.Rows, rows)
			require.Equal(t, []any{"a", 1.0}, table.Rows[0].Cells[:2])
			require.Contains(t, string(table.Rows[0].Object.Raw), `"kind":"PartialObjectMetadata"`)
		}
	}},
	{name: "the rows of a Table can be whole or bare", run: func(t T, s *server) {
		s.configMaps("a")
		table := &metav1.Table{}
		s.get(s.path("configmaps")+"?includeObject=Object", acceptTable).want(200).into(table)
		require.Contains(t, string(table.Rows[0].Object.Raw), `"data":{"k":"v"}`)
		table = &metav1.Table{}
		s.get(s.path("configmaps")+"?includeObject=None", acceptTable).want(200).into(table)
		require.Empty(t, table.Rows[0].Object.Raw)
	}},
	{name: "Tables come in pages", run: func(t T, s *server) {
		s.configMaps("a", "b", "c")
		table := &metav1.Table{}
		s.get(s.path("configmaps")+"?limit=2", acceptTable).want(200).into(table)
		require.NotEmpty(t, table.Continue)
		require.Equal(t, new(int64(1)), table.RemainingItemCount)
		require.Len(t, table.Rows, 2)
	}},
	{name: "metadata alone has no data", run: func(t T, s *server) {
		s.configMaps("a")
		got := s.get(s.path("configmaps", "a"), acceptPartial).want(200)
		require.Equal(t, metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}, got.meta().TypeMeta)
		require.Nil(t, got.at("data"))
		list := s.get(s.path("configmaps"), acceptPartials)
		require.Equal(t, metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}, list.list().TypeMeta)
		require.Equal(t, []string{"a"}, list.names())
		require.NotContains(t, string(list.body), `"data"`)
	}},
	{name: "one is no list, and a list is not one", run: func(t T, s *server) {
		s.configMaps("a")
		s.get(s.path("configmaps", "a"), acceptPartials).want(406)
		s.get(s.path("configmaps"), acceptPartial).want(406)
	}},
	{name: "metadata comes in protobuf, too", run: func(t T, s *server) {
		s.configMaps("a")
		got := s.get(s.path("configmaps"), acceptProtobuf+";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io").want(200)
		list := &metav1.PartialObjectMetadataList{}
		protobufInto(t, got.body, "PartialObjectMetadataList", list)
		require.Equal(t, "a", list.Items[0].Name)
	}},
	{name: "pretty is for people", run: func(t T, s *server) {
		s.configMaps("a")
		plain := s.get(s.path("configmaps", "a"))
		for _, pretty := range []*response{
			s.get(s.path("configmaps", "a") + "?pretty=true"), s.get(s.path("configmaps", "a") + "?pretty=1"),
			s.get(s.path("configmaps", "a"), "User-Agent: curl/8.0"), s.get(s.path("configmaps", "a"), "Accept: application/json;pretty=1"),
		} {
			require.True(t, strings.HasPrefix(string(pretty.body), "{\n  \"kind\": \"ConfigMap\",\n"), "%s", pretty.body)
			require.Equal(t, compact(t, plain.body), compact(t, pretty.body))
		}
		require.NotContains(t, strings.TrimSuffix(string(plain.body), "\n"), "\n")
		require.NotContains(t, strings.TrimSuffix(string(s.get(s.path("configmaps", "a")+"?pretty=false", "User-Agent: curl/8.0").body), "\n"), "\n")
	}},
})
