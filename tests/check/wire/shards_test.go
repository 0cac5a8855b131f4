package wire

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/client-go/rest"

	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
)

// shardGate is off by default.
const shardGate = "ShardedListAndWatch=true"

// halves are the selectors of two shards that hold everything.
func halves(field string) [2]string {
	const middle = "0x8000000000000000"
	return [2]string{
		fmt.Sprintf("shardRange(%s, '0x0000000000000000', '%s')", field, middle),
		fmt.Sprintf("shardRange(%s, '%s', '0x10000000000000000')", field, middle),
	}
}

// halfOf is the shard that a value is in.
func halfOf(value string) int {
	if sharding.HashField(value) < "8000000000000000" {
		return 0
	}
	return 1
}

// inHalves creates ConfigMaps until each half of the UIDs has some, and returns their names by half.
func (s *server) inHalves() (names [2][]string) {
	s.t.Helper()
	for i := 0; min(len(names[0]), len(names[1])) < 2; i++ {
		name := fmt.Sprintf("c%03d", i)
		half := halfOf(string(s.configMaps(name).meta().UID))
		names[half] = append(names[half], name)
	}
	return names
}

// sharded adds a shardSelector to a path.
func sharded(path, selector string) string {
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	return path + sep + "shardSelector=" + url.QueryEscape(selector)
}

// seen is what a list or watch of one half has.
func (s *server) seen(names [2][]string, half int) []string {
	if s.shards {
		return names[half]
	}
	return slices.Sorted(slices.Values(slices.Concat(names[0], names[1])))
}

// shards hold with the feature gate on and off: a server with it off ignores the selector.
var shards = group("shards", []check{
	{name: "a list has the objects of its shard and says so", run: func(t T, s *server) {
		names := s.inHalves()
		for half, selector := range halves("object.metadata.uid") {
			got := s.get(sharded(s.path("configmaps"), selector))
			require.Equal(t, s.seen(names, half), got.names())
			var says any
			if s.shards {
				says = selector
			}
			require.Equal(t, says, got.at("metadata", "shardInfo", "selector"))
		}
	}},
	{name: "a list is divided by namespace", run: func(t T, s *server) {
		s.configMaps("a")
		for half, selector := range halves("object.metadata.namespace") {
			want := []string{}
			if !s.shards || halfOf(s.ns) == half {
				want = []string{"a"}
			}
			require.Equal(t, want, s.get(sharded(s.path("configmaps"), selector)).names())
		}
	}},
	{name: "objects of cluster scope are in the shard of no namespace", run: func(t T, s *server) {
		for half, selector := range halves("object.metadata.namespace") {
			path := sharded("/api/v1/namespaces?fieldSelector=metadata.name%3D"+s.ns, selector)
			require.Equal(t, !s.shards || halfOf("") == half, len(s.get(path).names()) == 1)
		}
	}},
	{name: "pages are of the shard, and do not count what remains", run: func(t T, s *server) {
		names := s.inHalves()
		for half, selector := range halves("object.metadata.uid") {
			var got []string
			for next := ""; ; {
				page := s.get(sharded(s.path("configmaps")+"?limit=1&continue="+next, selector))
				got = append(got, page.names()...)
				if next = page.list().Continue; next == "" {
					break
				}
				require.Equal(t, s.shards, page.list().RemainingItemCount == nil)
			}
			require.Equal(t, s.seen(names, half), got)
		}
	}},
	{name: "a list of metadata is of the shard and does not say so", run: func(t T, s *server) {
		names := s.inHalves()
		got := s.get(sharded(s.path("configmaps"), halves("object.metadata.uid")[0]), "Accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		require.Equal(t, s.seen(names, 0), got.names())
		require.Nil(t, got.at("metadata", "shardInfo"))
	}},
	{name: "a list of custom resources is of the shard and does not say so", run: func(t T, s *server) {
		d := s.definition()
		s.post(definitions, d.body("", "")).want(201)
		path := "/apis/" + d.group + "/v1/namespaces/" + s.ns + "/" + d.plural
		s.eventually(path, func() bool { return s.get(path).code == 200 })
		half := halfOf(string(s.post(path, "{apiVersion: "+d.group+"/v1, kind: "+d.kind+", metadata: {name: a}}").want(201).meta().UID))
		for i, selector := range halves("object.metadata.uid") {
			got := s.get(sharded(path, selector))
			require.Equal(t, !s.shards || i == half, len(got.names()) == 1)
			require.Nil(t, got.at("metadata", "shardInfo"))
		}
	}},
	{name: "a watch has the events of its shard", run: func(t T, s *server) {
		made := s.configMaps("before")
		half := halfOf(string(made.meta().UID))
		from := s.path("configmaps") + "?resourceVersion=" + made.version()
		own := s.watch(sharded(from, halves("object.metadata.uid")[half]))
		other := s.watch(sharded(from, halves("object.metadata.uid")[1-half]))
		s.patch(s.path("configmaps", "before"), mergePatch, "data: {k: w}").want(200)
		s.delete(s.path("configmaps", "before"), "").want(200)
		var events [2][]string
		events[half] = []string{"MODIFIED before", "DELETED before"}
		all := slices.Clone(events[half])
		for i := 0; len(events[1-half]) == 0; i++ { // until there is one of the other half
			name := fmt.Sprintf("c%03d", i)
			of := halfOf(string(s.configMaps(name).meta().UID))
			events[of], all = append(events[of], "ADDED "+name), append(all, "ADDED "+name)
		}
		if !s.shards {
			events = [2][]string{all, all}
		}
		own.expect(events[half]...)
		other.expect(events[1-half]...)
	}},
	{name: "a streaming list is of the shard, and only its bookmark is sure", run: func(t T, s *server) {
		names := s.inHalves()
		for half, selector := range halves("object.metadata.uid") {
			w := s.watch(sharded(s.path("configmaps")+"?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", selector))
			for _, name := range s.seen(names, half) {
				w.expect("ADDED " + name)
			}
			end := w.expect("BOOKMARK")
			require.Equal(t, "true", end.meta(t).Annotations[metav1.InitialEventsAnnotationKey])
			require.NotContains(t, string(end.Object), "shardInfo")
		}
	}},
	{name: "ranges may overlap", run: func(t T, s *server) {
		names := s.inHalves()
		selector := strings.Repeat(halves("object.metadata.uid")[1]+" || ", 2) + halves("object.metadata.uid")[1]
		require.Equal(t, s.seen(names, 1), s.get(sharded(s.path("configmaps"), selector)).names())
	}},
	{name: "a bad selector is a 500 without a reason", run: func(t T, s *server) {
		good := halves("object.metadata.uid")[0]
		for _, selector := range []string{
			" ", "false", "shardRange()", good + " && " + good, good + " ||",
			strings.ReplaceAll(good, "metadata.uid", "metadata.name"),
			strings.ReplaceAll(good, "0x8000000000000000", "0x8"),
			strings.ReplaceAll(good, "0x8000000000000000", "0x800000000000000A"),
			strings.ReplaceAll(good, "0x8000000000000000", "0x20000000000000000"),
			strings.ReplaceAll(good, "0x8000000000000000", "0x0000000000000000"),
			good + " || " + halves("object.metadata.namespace")[1],
		} {
			for _, query := range []string{"", "?watch=true&timeoutSeconds=1"} {
				got := s.get(sharded(s.path("configmaps")+query, selector))
				if s.shards {
					got.fails(500, metav1.StatusReasonUnknown, "invalid shard selector: …")
				} else {
					got.want(200)
				}
			}
			_, err := shard.Parse(selector)
			require.Error(t, err, "the client refuses what the server refuses: %s", selector)
		}
	}},
	{name: "our client has the shard, whatever the server sends", run: func(t T, s *server) {
		names := s.inHalves()
		for half, text := range halves("object.metadata.uid") {
			for _, accept := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
				s.clientHas(text, accept, names[half], len(names[1-half]))
			}
		}
	}},
})

// clientHas lists and watches with listwatch and compares what comes.
func (s *server) clientHas(selector, accept string, want []string, others int) {
	s.t.Helper()
	parsed, err := shard.Parse(selector)
	require.NoError(s.t, err)
	var dropped atomic.Int64
	client, err := listwatch.NewForConfig[*corev1.ConfigMap](rest.CopyConfig(s.config), schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		listwatch.Options{Namespace: s.ns, Accept: accept, HTTPClient: s.client, Shard: parsed, OnForeign: func() { dropped.Add(1) }})
	require.NoError(s.t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	list, err := client.List(ctx, metav1.ListOptions{})
	require.NoError(s.t, err)
	var got []string
	for _, item := range list.Items {
		got = append(got, item.Name)
	}
	require.Equal(s.t, want, got)
	initial := true
	stream, err := client.Watch(ctx, metav1.ListOptions{
		SendInitialEvents: &initial, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	require.NoError(s.t, err)
	defer stream.Close()
	got = nil
	for {
		event, err := stream.Next()
		require.NoError(s.t, err)
		if event.Type == listwatch.Bookmark {
			require.True(s.t, event.InitialEventsEnd)
			break
		}
		got = append(got, event.Object.Name)
	}
	require.Equal(s.t, want, got)
	if s.shards {
		others = 0
	}
	require.EqualValues(s.t, 2*others, dropped.Load())
}

// shardMetrics are of a real server with the feature gate on.
var shardMetrics = group("shards", []check{
	{name: "watches of shards are counted", run: func(t T, s *server) {
		metric := func() string {
			for line := range strings.Lines(string(s.get("/metrics").want(200).body)) {
				if value, ok := strings.CutPrefix(line, `apiserver_watch_shards_total{group="coordination.k8s.io",resource="leases"} `); ok {
					return strings.TrimSpace(value)
				}
			}
			return ""
		}
		s.watch(sharded(s.path("leases"), halves("object.metadata.namespace")[0]))
		s.watch(s.path("leases"))
		s.eventually("one watch is counted", func() bool { return metric() == "1" })
	}},
})
