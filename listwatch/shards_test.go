package listwatch

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"pgregory.net/rapid"

	"glasswatch/listwatch/shard"
	"glasswatch/listwatch/wire"
)

// half is a shard that has half of all hashes.
func half(field shard.Field, i int) shard.Selector {
	return shard.Selector{Field: field, Ranges: shard.Merge(shard.Of(i, 2))}
}

// inHalf returns a UID in a half of the hashes.
func inHalf(i int) types.UID {
	for n := 0; ; n++ {
		if uid := fmt.Sprint("uid-", n); shard.Index(shard.Hash(uid), 2) == i {
			return types.UID(uid)
		}
	}
}

func withUID(obj *corev1.Service, uid types.UID) *corev1.Service {
	obj.UID = uid
	return obj
}

// The server of this model does not know shards. The model decides by the objects that it put in.
func TestShard_OnlyItsObjectsComeWhateverTheServerSends(t *testing.T) {
	for _, contentType := range bothTypes {
		rapid.Check(t, func(rt *rapid.T) {
			selector := half(rapid.SampledFrom([]shard.Field{shard.UID, shard.Namespace}).Draw(rt, "field"), rapid.IntRange(0, 1).Draw(rt, "half"))
			dropped, foreign := 0, 0
			opts := Options{Shard: selector, OnForeign: func() { dropped++ }}
			var frames []byte
			var events, listed []string
			list := serviceList("9")
			for n := range rapid.IntRange(0, 8).Draw(rt, "objects") {
				obj := serviceV1(fmt.Sprint("s", n), fmt.Sprint(n+1))
				obj.Namespace = rapid.StringMatching(`[a-z]{1,3}`).Draw(rt, "namespace")
				obj.UID = types.UID(rapid.StringMatching(`[a-f0-9]{0,4}`).Draw(rt, "uid"))
				list.Items = append(list.Items, *obj)
				typ := rapid.SampledFrom([]watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark}).Draw(rt, "type")
				frames = append(frames, encodeEvent(t, contentType, typ, obj)...)
				if selector.Matches(obj) {
					listed = append(listed, obj.Name)
				} else {
					foreign++
				}
				switch {
				case typ == watch.Bookmark:
					events = append(events, "BOOKMARK "+obj.ResourceVersion)
				case selector.Matches(obj):
					events = append(events, string(typ)+" "+obj.ResourceVersion)
				default:
					foreign++
				}
			}
			stream := shardStream(t, contentType, opts, frames)
			var came []string
			for {
				ev, err := stream.Next()
				if err != nil {
					break
				}
				came = append(came, ev.Type.String()+" "+ev.ResourceVersion)
			}
			require.Equal(rt, events, came)
			got, err := decodeList(formatOf(contentType), shardCodec(t, opts), encode(t, contentType, list))
			require.NoError(rt, err)
			var names []string
			for _, item := range got.Items {
				names = append(names, item.Name)
			}
			require.Equal(rt, listed, names)
			require.Empty(rt, got.Bad)
			require.Equal(rt, foreign, dropped)
		})
	}
}

func formatOf(contentType string) wire.Format {
	if contentType == protoType {
		return asProtobuf
	}
	return asJSON
}

// shardStream is a watch of a client with those options, whose bytes are frames.
func shardStream(t testing.TB, contentType string, opts Options, frames []byte) *puller[*corev1.Service] {
	return streamOver(t.Context(), formatOf(contentType), shardCodec(t, opts), bytes.NewReader(frames))
}

// shardCodec is the codec of a client with those options.
func shardCodec(t testing.TB, opts Options) *codec[*corev1.Service] {
	c := serviceCodec(t)
	c.shard = shard.Filter{Selector: opts.Shard, OnForeign: opts.OnForeign}
	return c
}

func TestShard_IsInTheURLAndWithoutOneNothingIs(t *testing.T) {
	var seen requests
	cfg := serve(t, seen.wrap(answer(jsonType, encode(t, jsonType, serviceList("9")))))
	for _, selector := range []shard.Selector{{}, half(shard.UID, 1)} {
		client := servicesOf(t, cfg, Options{Shard: selector})
		_, err := client.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Equal(t, selector.String(), seen.query().Get("shardSelector"))
		require.Equal(t, !selector.Everything(), seen.query().Has("shardSelector"))
		stream, err := client.Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.NoError(t, stream.Close())
		require.Equal(t, selector.String(), seen.query().Get("shardSelector"))
		assert.Equal(t, !selector.Everything(), client.Source() != servicesOf(t, cfg, Options{}).Source(), "what is kept on disk is of one shard")
	}
}

// What a server would answer with a 500, or take though it is a mistake, is not sent.
func TestShard_WhatIsWrongIsRefusedBeforeItIsSent(t *testing.T) {
	cfg := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request") }))
	for _, tc := range []struct {
		selector shard.Selector
		wants    string
	}{
		{shard.Selector{Field: "object.metadata.name", Ranges: shard.Merge(shard.Of(0, 2))}, "the field must be object.metadata.uid or object.metadata.namespace"},
		{shard.Selector{Field: shard.UID}, "write shardRange("},
		{shard.Selector{Field: shard.UID, Ranges: shard.Ranges{shard.Of(0, 2), shard.Of(0, 4)}}, "overlaps"},
	} {
		_, err := NewForConfig[*corev1.Service](cfg, servicesGVR, Options{Shard: tc.selector})
		require.ErrorContains(t, err, tc.wants)
	}
	client := servicesOf(t, cfg, Options{})
	_, err := client.List(t.Context(), metav1.ListOptions{ShardSelector: half(shard.UID, 0).String()})
	require.ErrorContains(t, err, "set Options.Shard instead")
	_, err = client.Watch(t.Context(), metav1.ListOptions{ShardSelector: half(shard.UID, 0).String()})
	require.ErrorContains(t, err, "set Options.Shard instead")
}

// The server takes ranges in any order. So the client must not lose what it sends for them.
func TestShard_RangesMayBeInAnyOrder(t *testing.T) {
	ascending := shard.Merge(shard.Of(0, 8), shard.Of(2, 8), shard.Of(6, 8))
	list := serviceList("9")
	var want []string
	for n := range 100 {
		obj := withUID(serviceV1(fmt.Sprint("s", n), "5"), types.UID(fmt.Sprint(n, " is spread")))
		list.Items = append(list.Items, *obj)
		if ascending.Contains(shard.Hash(string(obj.UID))) {
			want = append(want, obj.Name)
		}
	}
	cfg := serve(t, answer(jsonType, encode(t, jsonType, list)))
	unsorted := shard.Ranges{shard.Of(6, 8), shard.Of(0, 8), shard.Of(2, 8)}
	client := servicesOf(t, cfg, Options{Shard: shard.Selector{Field: shard.UID, Ranges: unsorted}})
	got, err := client.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var names []string
	for _, item := range got.Items {
		names = append(names, item.Name)
	}
	require.Equal(t, want, names)
}

// Whose object it is cannot be read, so each member reports it. Otherwise all would take it for another's.
func TestShard_ABadObjectThatMayBeOursIsReported(t *testing.T) {
	whole, err := withUID(serviceV1("a", "5"), inHalf(0)).Marshal()
	require.NoError(t, err)
	for _, tc := range []struct{ contentType, object string }{
		{protoType, "\xff\xff\xff" + string(whole)}, // broken in front of the metadata
		{protoType, string(whole[:12])},             // and in it
		{protoType, ""},
		{jsonType, `{"metadata":{}}`},
		{jsonType, `{"metadata":{"uid":"uid-0"}}`},
		{jsonType, `null`},
	} {
		for i := range 2 {
			for _, field := range []shard.Field{shard.UID, shard.Namespace} {
				stream := shardStream(t, tc.contentType, Options{Shard: half(field, i)},
					encodeRaw(t, tc.contentType, "MODIFIED", []byte(tc.object)))
				_, err := stream.Next()
				require.IsType(t, &ObjectError{}, err, "%q in half %d by %s", tc.object, i, field)
			}
		}
	}
}

// A struct keeps what a second field leaves out, a map does not. The object that is kept decides.
func TestShard_AFieldThatComesTwiceIsJudgedAsItIsDecoded(t *testing.T) {
	for _, second := range []string{strconv.Quote(string(inHalf(0))), strconv.Quote(string(inHalf(1))), "null"} {
		item := fmt.Sprintf(`{"metadata":{"name":"a","uid":%q},"metadata":{"name":"a","uid":%s}}`, inHalf(0), second)
		kept := 0
		for i := range 2 {
			c := newUnstructuredCodec(corev1.SchemeGroupVersion, "")
			c.shard = shard.Filter{Selector: half(shard.UID, i)}
			list, err := decodeList[*unstructured.Unstructured](asJSON, c,
				[]byte(`{"metadata":{"resourceVersion":"9"},"items":[`+item+`]}`))
			require.NoError(t, err)
			require.Empty(t, list.Bad)
			for _, obj := range list.Items {
				require.True(t, c.shard.Matches(obj), item)
				kept++
			}
		}
		require.Equal(t, 1, kept, item)
	}
}

// An object of another shard costs nothing, even if it could not be decoded. One of ours is an ObjectError.
func TestShard_ABadObjectOfAnotherShardIsNoError(t *testing.T) {
	opts := Options{Shard: half(shard.UID, 0)}
	for i, want := range []int{1, 0} {
		item := fmt.Sprintf(`{"metadata":{"name":"a","uid":%q},"spec":{"ports":"many"}}`, inHalf(i))
		list, err := decodeList(asJSON, shardCodec(t, opts), []byte(`{"metadata":{"resourceVersion":"9"},"items":[`+item+`]}`))
		require.NoError(t, err)
		require.Len(t, list.Bad, want)
		require.Empty(t, list.Items)
		stream := shardStream(t, jsonType, opts, encodeRaw(t, jsonType, "ADDED", []byte(item)))
		_, err = stream.Next()
		_, isBad := err.(*ObjectError)
		require.Equal(t, want == 1, isBad, "%v", err)
	}
}

// A map takes a resourceVersion that is a number, and the bytes cannot be read as metadata then.
func TestShard_IsFoundInTheObjectIfNotInItsBytes(t *testing.T) {
	c := newUnstructuredCodec(corev1.SchemeGroupVersion, "")
	dropped := 0
	c.shard = shard.Filter{Selector: half(shard.UID, 0), OnForeign: func() { dropped++ }}
	for i := range 2 {
		item := fmt.Sprintf(`{"metadata":{"name":"a","uid":%q,"resourceVersion":5}}`, inHalf(i))
		list, err := decodeList[*unstructured.Unstructured](asJSON, c, []byte(`{"metadata":{"resourceVersion":"9"},"items":[`+item+`]}`))
		require.NoError(t, err)
		require.Len(t, list.Items, 1-i)
		require.Equal(t, i, dropped)
	}
}

// Close ends a Next that finds nothing but objects of other shards.
func TestShard_AStreamOfForeignObjectsCanBeClosed(t *testing.T) {
	for _, contentType := range bothTypes {
		frame := encodeEvent(t, contentType, watch.Added, withUID(serviceV1("a", "5"), inHalf(1)))
		cfg := serve(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", contentType)
			for req.Context().Err() == nil {
				if _, err := w.Write(frame); err != nil {
					return
				}
			}
		}))
		seen, many := 0, make(chan struct{})
		client := servicesOf(t, cfg, Options{Shard: half(shard.UID, 0), OnForeign: func() {
			if seen++; seen == 1000 {
				close(many)
			}
		}})
		stream, err := client.Watch(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		go func() { <-many; _ = stream.Close() }()
		_, err = stream.Next()
		require.ErrorIs(t, err, ErrClosed)
	}
}

// A batch of nothing tells that the server is not silent. Next waits for an object of the shard.
func TestShard_ABatchIsEmptyIfAForeignObjectComesFirst(t *testing.T) {
	var frames []byte
	for _, i := range []int{1, 0, 1, 0} {
		frames = append(frames, encodeEvent(t, protoType, watch.Added, withUID(serviceV1("a", "5"), inHalf(i)))...)
	}
	stream := shardStream(t, protoType, Options{Shard: half(shard.UID, 0)}, frames)
	n, err := stream.NextBatch(make([]Event[*corev1.Service], 1))
	require.NoError(t, err)
	require.Zero(t, n)
	for range 2 {
		ev, err := stream.Next()
		require.NoError(t, err)
		require.Equal(t, Added, ev.Type)
	}
}

// A batch has what has arrived of the shard, and does not wait for more because foreign objects came.
func TestShard_ABatchPassesOverForeignObjects(t *testing.T) {
	var frames []byte
	for n := range 6 {
		frames = append(frames, encodeEvent(t, protoType, watch.Added, withUID(serviceV1("a", fmt.Sprint(n+1)), inHalf(n%2)))...)
	}
	stream := shardStream(t, protoType, Options{Shard: half(shard.UID, 0)}, frames)
	into := make([]Event[*corev1.Service], 8)
	n, err := stream.NextBatch(into)
	require.NoError(t, err)
	var versions []string
	for _, ev := range into[:n] {
		versions = append(versions, ev.ResourceVersion)
	}
	require.Equal(t, []string{"1", "3", "5"}, versions)
}
