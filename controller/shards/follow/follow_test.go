package follow

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"glasswatch/controller/shards"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
	"glasswatch/sharedinformer/merged"
)

func TestGroup_StoresFollowTheShardsAsMembersComeAndGo(t *testing.T) {
	for _, field := range []shard.Field{shard.UID, shard.Namespace} {
		for _, off := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/off=%v", field, off), func(t *testing.T) {
				inWorld(t, field, apiserver.Options{DisableShards: off}, func(w *world) {
					w.Join("a", nil)
					apiservertest.Pass(30 * time.Second)
					w.ExpectShared()
					w.Join("b", nil)
					w.Join("c", nil)
					apiservertest.Pass(30 * time.Second)
					w.ExpectShared()
					w.Delete("b-shop", "c1")
					w.Put("c-shop", "later")
					apiservertest.Pass(time.Second)
					w.ExpectShared()
					w.Leave("b")
					apiservertest.Pass(30 * time.Second)
					w.ExpectShared()
					w.Leave("c")
					apiservertest.Pass(30 * time.Second)
					w.ExpectShared()
				})
			})
		}
	}
}

// Each step of a shard that is held and cannot be listed: the member holds it, and no reconcile begins.
func TestGroup_NothingBeginsBeforeTheShardIsListed(t *testing.T) {
	inWorld(t, shard.UID, apiserver.Options{}, func(w *world) {
		a := w.Join("a", func(m *member) { m.refuse = true })
		apiservertest.Pass(30 * time.Second)
		require.Len(t, a.Held(), shardCount)
		require.ErrorContains(t, a.Ready(), "16 of 16 shards are not listed yet")
		for s := range shardCount {
			require.False(t, a.Listed(s))
			_, done, ok := a.Begin(w.Context(), s)
			if ok {
				done()
			}
			require.False(t, ok)
		}
		require.Empty(t, a.listed)
		a.mu.Lock()
		a.refuse = false
		a.mu.Unlock()
		apiservertest.Pass(2 * time.Minute)
		w.ExpectShared()
		require.Len(t, a.listed, shardCount)
		ctx, done, ok := a.Begin(w.Context(), 3)
		require.True(t, ok)
		require.NoError(t, ctx.Err())
		done()
	})
}

// Without streaming lists, too, the list is of the newest version, not of any.
func TestGroup_PagedListsAreOfTheNewestVersion(t *testing.T) {
	inWorld(t, shard.UID, apiserver.Options{}, func(w *world) {
		a := w.Join("a", func(m *member) { m.paged = true })
		apiservertest.Pass(30 * time.Second)
		w.ExpectShared()
		a.mu.Lock()
		defer a.mu.Unlock()
		require.NotContains(t, a.requests[0], "watch")
		require.NotContains(t, a.requests[0], "resourceVersion")
		require.NotContains(t, a.requests[0], "sendInitialEvents")
	})
}

// A member that gets another's shards lists these, at the newest version, and none that it has.
func TestGroup_ListsWhatItGainedAndNotWhatItHas(t *testing.T) {
	inWorld(t, shard.UID, apiserver.Options{}, func(w *world) {
		a := w.Join("a", nil)
		b := w.Join("b", nil)
		apiservertest.Pass(30 * time.Second)
		gained := b.Held()
		require.NotEmpty(t, gained)
		w.Requests(a)
		w.Delete("d-shop", "c3")
		w.Leave("b")
		apiservertest.Pass(30 * time.Second)
		w.ExpectShared()
		require.NotContains(t, a.requests[0], "resourceVersion=0")
		require.Equal(t, []string{fmt.Sprint("stream ", gained)}, w.Requests(a))
	})
}

// During a list nothing tells how far the store has come. ShowsUpTo says so, and does not wait for the list.
func TestInformer_ShowsUpToDoesNotWaitForAList(t *testing.T) {
	inWorld(t, shard.UID, apiserver.Options{}, func(w *world) {
		a := w.Join("a", nil)
		b := w.Join("b", nil)
		apiservertest.Pass(30 * time.Second)
		own := a.Held()[0]
		require.NotEmpty(t, a.configs.ShowsUpTo(context.Background(), own))
		require.Empty(t, a.configs.ShowsUpTo(context.Background(), b.Held()[0]), "it is another's")
		a.mu.Lock()
		a.refuse = true
		a.mu.Unlock()
		w.Leave("b")
		apiservertest.Pass(30 * time.Second)
		begun := time.Now()
		require.Empty(t, a.configs.ShowsUpTo(context.Background(), own))
		require.Zero(t, time.Since(begun))
		a.mu.Lock()
		a.refuse = false
		a.mu.Unlock()
		apiservertest.Pass(time.Minute)
		require.NotEmpty(t, a.configs.ShowsUpTo(context.Background(), own))
	})
}

func TestGroup_ShowsTheLargestShard(t *testing.T) {
	inWorld(t, shard.Namespace, apiserver.Options{}, func(w *world) {
		a := w.Join("a", nil)
		for n := range 20 {
			w.Put("a-shop", fmt.Sprintf("hot%d", n))
		}
		apiservertest.Pass(30 * time.Second)
		objects, largest := a.Largest()
		require.GreaterOrEqual(t, objects, 50)
		require.GreaterOrEqual(t, largest, 25)
	})
}

// A member whose informers cannot follow its shards leaves, so that others get them.
func TestGroup_LeavesIfASourceCannotBeMade(t *testing.T) {
	inWorld(t, shard.UID, apiserver.Options{}, func(w *world) {
		g, err := New(w.Client.CoordinationV1(), Options{
			Member: shards.Options{Namespace: "default", Name: "web", Identity: "a", Shards: shardCount},
			Field:  w.field,
		})
		require.NoError(t, err)
		calls, broken := 0, errors.New("no client today")
		_, err = Add(g, func(shard.Selector) (listwatch.ListerWatcher[*corev1.ConfigMap], error) {
			if calls++; calls > 1 {
				return nil, broken
			}
			return nil, nil
		}, merged.Options[*corev1.ConfigMap]{})
		require.NoError(t, err)
		require.ErrorIs(t, g.Run(klog.NewContext(context.Background(), logr.Discard())), broken)
		require.Empty(t, g.Held())
	})
}

func TestNew_RefusesAFieldThatServersDoNotKnow(t *testing.T) {
	_, err := New(nil, Options{Member: shards.Options{Namespace: "default", Name: "web", Identity: "a"}, Field: "name"})
	require.ErrorContains(t, err, `Field is "name"`)
	_, err = New(nil, Options{Field: shard.UID})
	require.ErrorContains(t, err, "Namespace is empty")
	require.NotErrorIs(t, err, context.Canceled)
}

// The server's hash decides over shards, so this cannot be mended here. doc.go has the figures.
func TestOf_NamesThatDifferInTheLastLettersShareAShard(t *testing.T) {
	count := func(format string) int {
		seen := map[int]bool{}
		for n := range 200 {
			seen[shard.Index(shard.Hash(fmt.Sprintf(format, n)), 256)] = true
		}
		return len(seen)
	}
	require.Equal(t, 2, count("team-%03d"))
	require.Equal(t, 150, count("%03d-team"))
}
