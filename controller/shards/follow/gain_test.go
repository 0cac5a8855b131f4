package follow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/rv"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
)

// A gain lists a kept shard anew, in a source that takes the place of another one. While that list is late, an object of
// the kept shard is deleted, and the other watches come further than that.
func TestGroup_WhatIsDeletedInAKeptShardDuringAGainDoesNotComeBack(t *testing.T) {
	for _, paged := range []bool{false, true} {
		t.Run(fmt.Sprint("paged=", paged), func(t *testing.T) {
			inWorld(t, shard.UID, apiserver.Options{BookmarkInterval: 10 * time.Second}, func(w *world) {
				m := fourSources(w, paged)
				victim := w.PutIn(m, 0, "victim")
				w.Step(m, func() {})
				goOn := m.Stall(func(query string) bool { return strings.Contains(query, fifth) })
				m.Hold(4)
				apiservertest.Pass(time.Second)
				w.Delete("a-shop", "victim")
				apiservertest.Pass(20 * time.Second)
				require.True(w, m.Listed(0), "it is kept")
				require.NotContains(w, versions(m), listwatch.KeyOf(victim))
				m.Told()
				goOn()
				w.Step(m, func() {})
				require.NotContains(w, strings.Join(m.Told(), "\n"), "victim")
			})
		})
	}
}

// An object of the kept shard is made while the list is late, and the watch that follows the list is later still. Until
// then the source that is replaced shows the object, and what becomes of it.
func TestGroup_WhatIsMadeInAKeptShardDuringAGainStays(t *testing.T) {
	for _, paged := range []bool{false, true} {
		t.Run(fmt.Sprint("paged=", paged), func(t *testing.T) {
			inWorld(t, shard.UID, apiserver.Options{}, func(w *world) {
				m := fourSources(w, paged)
				kept := w.PutIn(m, 0, "kept")
				w.Step(m, func() {})
				goOn := m.Stall(func(query string) bool { return strings.Contains(query, fifth) })
				m.Hold(4)
				apiservertest.Pass(time.Second)
				born := w.PutIn(m, 0, "born")
				apiservertest.Pass(time.Second)
				require.Contains(w, versions(m), listwatch.KeyOf(born))
				m.Told()
				watchGoesOn := m.Stall(func(query string) bool {
					return strings.Contains(query, fifth) && strings.Contains(query, "watch")
				})
				goOn()
				apiservertest.Pass(5 * time.Second)
				require.True(w, m.Listed(0))
				require.True(w, m.Listed(4), "what is new does not wait for that")
				require.Contains(w, versions(m), listwatch.KeyOf(born))
				w.Delete(kept.Namespace, kept.Name)
				changed := w.Touch(born.Namespace, born.Name)
				apiservertest.Pass(time.Second)
				require.Equal(w, changed.ResourceVersion, versions(m)[listwatch.KeyOf(born)], "it reads on")
				require.Contains(w, versions(m), listwatch.KeyOf(kept), "the new source has it yet")
				require.True(w, rv.IsOlder(m.configs.ShowsUpTo(w.Context(), 0), changed.ResourceVersion))
				m.Told()
				watchGoesOn()
				w.Step(m, func() {})
				require.NotContains(w, versions(m), listwatch.KeyOf(kept))
				require.Equal(w, changed.ResourceVersion, m.configs.ShowsUpTo(w.Context(), 0))
				require.NotContains(w, strings.Join(m.Told(), "\n"), "born")
				require.Len(w, m.configs.Sources(), maxSources)
			})
		})
	}
}

// A kind has retired the source that is replaced. Another cannot yet, because its watch is late.
func TestGroup_AKindIsKnownToShowAShardWhileAnotherKindIsLate(t *testing.T) {
	inWorld(t, shard.UID, apiserver.Options{}, func(w *world) {
		m := fourSources(w, true)
		goOn := m.Stall(func(uri string) bool { return strings.Contains(uri, "/services") && strings.Contains(uri, fifth) })
		m.Hold(4)
		apiservertest.Pass(time.Second)
		for svc := (*corev1.Service)(nil); svc == nil || m.Of(svc) != 0; {
			var err error
			svc, err = w.Client.CoreV1().Services("a-shop").Create(w.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "s-"},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
			}, metav1.CreateOptions{})
			require.NoError(w, err)
		}
		apiservertest.Pass(time.Second)
		watchGoesOn := m.Stall(func(uri string) bool {
			return strings.Contains(uri, "/services") && strings.Contains(uri, fifth) && strings.Contains(uri, "watch")
		})
		goOn()
		apiservertest.Pass(time.Second)
		kept := w.PutIn(m, 0, "kept")
		apiservertest.Pass(time.Minute)
		require.True(w, m.Listed(4))
		require.Len(w, m.configs.Sources(), maxSources)
		require.Len(w, m.services.Sources(), maxSources+1)
		require.Equal(w, kept.ResourceVersion, m.configs.ShowsUpTo(w.Context(), 0))
		watchGoesOn()
		w.Step(m, func() {})
		require.NotEmpty(w, m.services.ShowsUpTo(w.Context(), 0))
	})
}

// fifth is in the selector of a source that has shard 4 of 16.
const fifth = "0x5000000000000000"

// fourSources has a member that holds the shards 0 to 3 of 16, each in a source of its own.
func fourSources(w *world, paged bool) *member {
	m := w.Alone("a", func(m *member) { m.paged = paged })
	for s := range maxSources {
		w.Step(m, func() { m.Hold(s) })
	}
	require.Len(w, m.configs.Sources(), maxSources)
	return m
}
