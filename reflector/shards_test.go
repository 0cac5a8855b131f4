package reflector

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
)

// The server does not know shards, and its list has none of this one's objects for two minutes.
func TestStreamingList_ObjectsOfOtherShardsAreNoSilence(t *testing.T) {
	const event = `{"type":%q,"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{%s}}}`
	serve := func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		send := func(typ, metadata string) {
			_, _ = fmt.Fprintf(w, event, typ, metadata)
			w.(http.Flusher).Flush()
		}
		for range 6 {
			select {
			case <-time.After(20 * time.Second):
				send("ADDED", `"name":"theirs","namespace":"theirs","resourceVersion":"5"`)
			case <-req.Context().Done():
				return
			}
		}
		send("ADDED", `"name":"ours","namespace":"ours","resourceVersion":"7"`)
		send("BOOKMARK", `"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}`)
		<-req.Context().Done()
	}
	hash := shard.Hash("ours")
	only := shard.Selector{Field: shard.Namespace, Ranges: shard.Ranges{{First: hash, Last: hash}}}
	for _, takesBatches := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			listener := apiserver.NewPipeListener()
			server := http.Server{Handler: http.HandlerFunc(serve)}
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() { _ = server.Serve(listener) })
			defer server.Close()
			dropped := 0
			opts := listwatch.Options{Shard: only, OnForeign: func() { dropped++ }}
			configMaps := corev1.SchemeGroupVersion.WithResource("configmaps")
			lw, err := listwatch.NewMetadata(apiserver.RESTConfigFor(listener), configMaps, opts)
			require.NoError(t, err)
			recorder := newRecorder()
			var sink Sink[object] = recorder
			if takesBatches {
				sink = batchRecorder{recorder}
			}
			r := New(lw, sink, Options{OnError: func(_ context.Context, err error) { t.Error(err) }})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			r.Run(ctx)
			require.Equal(t, 6, dropped)
			require.Equal(t, []string{"Replace 9 [ours@7]"}, recorder.diary)
		})
	}
}
