package merged

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
	"glasswatch/sharedinformer"
)

// A member that gets other shards adds a source with their ranges, waits for it, and then removes the one with those before. Handlers
// are told nothing of what both have. The server's feature gate may be off.
func TestSources_FollowShards(t *testing.T) {
	for _, off := range []bool{false, true} {
		t.Run(fmt.Sprintf("off=%v", off), func(t *testing.T) {
			followShards(t, apiservertest.Start(t, apiserver.Options{DisableShards: off}).Config)
		})
	}
}

func followShards(t *testing.T, cfg *rest.Config) {
	const shards = 4
	http, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	defer http.CloseIdleConnections()
	typed, err := kubernetes.NewForConfigAndClient(cfg, http)
	require.NoError(t, err)
	configs := typed.CoreV1().ConfigMaps("default")
	names := map[int][]string{} // by shard
	put := func(name string) {
		made, err := configs.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
		of := shard.Index(shard.Hash(string(made.UID)), shards)
		names[of] = append(names[of], name)
	}
	for n := range 64 {
		put(fmt.Sprintf("c%02d", n))
	}
	source := func(name string, held ...int) Source[*corev1.ConfigMap] {
		var ranges []shard.Range
		for _, i := range held {
			ranges = append(ranges, shard.Of(i, shards))
		}
		client, err := listwatch.NewForConfig[*corev1.ConfigMap](cfg, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, listwatch.Options{
			Namespace: "default", HTTPClient: http, Shard: shard.Selector{Field: shard.UID, Ranges: shard.Merge(ranges...)},
		})
		require.NoError(t, err)
		return Source[*corev1.ConfigMap]{Name: name, ListerWatcher: client}
	}
	informer, err := New([]Source[*corev1.ConfigMap]{source("before", 0, 1)}, Options[*corev1.ConfigMap]{MoveGrace: -1})
	require.NoError(t, err)
	added, deleted := make(chan string, 256), make(chan string, 256)
	registration, err := informer.AddHandler(sharedinformer.HandlerFuncs[*corev1.ConfigMap]{
		AddFunc:    func(obj *corev1.ConfigMap, _ bool) { added <- obj.Name },
		DeleteFunc: func(d sharedinformer.Deletion[*corev1.ConfigMap]) { deleted <- d.Key.Name },
	}, sharedinformer.HandlerOptions{})
	require.NoError(t, err)
	stop := apiservertest.Go(t, informer.Run)
	require.NoError(t, registration.WaitForSync(t.Context()))
	expectStore(t, informer, names[0], names[1])
	require.ElementsMatch(t, slices.Concat(names[0], names[1]), take(added, len(names[0])+len(names[1])))

	require.NoError(t, informer.AddSource(source("after", 1, 2)))
	require.NoError(t, informer.WaitForResourceVersion(t.Context(), "1"), "the source has listed")
	expectStore(t, informer, names[0], names[1], names[2])
	require.True(t, informer.RemoveSource("before"))
	require.ElementsMatch(t, names[0], take(deleted, len(names[0])))
	expectStore(t, informer, names[1], names[2])

	stop()
	require.ElementsMatch(t, names[2], take(added, len(added)), "what both have is not told again")
	require.Empty(t, deleted)
}

func take(from <-chan string, n int) (names []string) {
	for range n {
		names = append(names, <-from)
	}
	return names
}

func expectStore(t *testing.T, informer *Informer[*corev1.ConfigMap], want ...[]string) {
	t.Helper()
	var got []string
	for _, obj := range informer.Store().List() {
		got = append(got, obj.Name)
	}
	require.ElementsMatch(t, slices.Concat(want...), got)
}
