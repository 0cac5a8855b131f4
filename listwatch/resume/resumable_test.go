package resume

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

// resumable opens a watch as a program does after each start; start is "" to resume from the file.
func resumable(t require.TestingT, lw listwatch.ListerWatcher[*corev1.Service], path, start string) *Watch[*corev1.Service] {
	w, err := openResumable(lw, path, start)
	require.NoError(t, err)
	return w
}

func openResumable(lw listwatch.ListerWatcher[*corev1.Service], path, start string) (*Watch[*corev1.Service], error) {
	return NewWatch(context.Background(), lw, metav1.ListOptions{ResourceVersion: start},
		Options{Path: path, Cluster: "test", Source: "services", OnError: func(error) {}})
}

// next wants events of these versions.
func next(t require.TestingT, w *Watch[*corev1.Service], versions ...string) {
	for _, version := range versions {
		ev, err := w.Next()
		require.NoError(t, err)
		require.Equal(t, version, ev.ResourceVersion)
	}
}

func TestResumableWatch_WhatWasNotCommittedComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "position")
		lw := &script{watches: [][]step{
			{added("2"), added("3"), added("4")},
			{added("3"), added("4")},
		}}
		w := resumable(t, lw, path, "1")
		require.Equal(t, "1", w.Position())
		next(t, w, "2", "3", "4")
		require.NoError(t, w.Commit("2"))
		require.NoError(t, w.Close())

		w = resumable(t, lw, path, "")
		next(t, w, "3", "4")
		require.NoError(t, w.Close())
		require.Equal(t, []string{"1", "2"}, lw.resumedAt())
		require.NoError(t, w.Commit("4"), "after Close, too")
		require.Equal(t, "4", resumable(t, lw, path, "").Position())
	})
}

func TestResumableWatch_BookmarksMoveThePositionOnlyWhenAllIsCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "position")
		lw := &script{watches: [][]step{{
			bookmarked("5"), added("6"), bookmarked("7"), added("8"), bookmarked("9"), added("10"),
		}}}
		w := resumable(t, lw, path, "1")
		next(t, w, "6")
		require.Equal(t, "5", w.Position(), "nothing had been delivered before the bookmark")
		next(t, w, "8")
		require.Equal(t, "5", w.Position(), "6 is not committed")
		require.NoError(t, w.Commit("6"))
		require.NoError(t, w.Commit("8"))
		next(t, w, "10")
		require.Equal(t, "9", w.Position())
		require.NoError(t, w.Close())
	})
}

func TestResumableWatch_ABookmarkBehindWhatIsNotCommittedCannotBeCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := &script{watches: [][]step{{added("2"), bookmarked("8"), bookmarked("9")}}}
		opts := metav1.ListOptions{ResourceVersion: "1", AllowWatchBookmarks: true}
		w, err := NewWatch(t.Context(), lw, opts, Options{Path: filepath.Join(t.TempDir(), "position"), Cluster: "test", Source: "services"})
		require.NoError(t, err)
		next(t, w, "2", "8")
		require.ErrorIs(t, w.Commit("8"), ErrNotDelivered)
		require.NoError(t, w.Commit("2"))
		next(t, w, "9")
		require.Equal(t, "9", w.Position())
		require.NoError(t, w.Commit("9"))
		require.NoError(t, w.Close())
	})
}

func TestResumableWatch_APositionThatTheServerForgotIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "position")
		gone := apierrors.NewResourceExpired("too old resource version")
		lw := &script{failures: map[int]error{0: gone}, watches: [][]step{nil, {failed(gone)}, {added("21")}}}
		for range 2 { // refused, and ended by an event; the position stays, so the second time is no different
			w := resumable(t, lw, path, map[bool]string{true: "1", false: ""}[len(lw.asked) == 0])
			_, err := w.Next()
			require.ErrorIs(t, err, ErrPositionLost)
			require.True(t, apierrors.IsResourceExpired(err))
			require.NoError(t, w.Close())
		}
		w := resumable(t, lw, path, "20") // that of a list
		next(t, w, "21")
		require.NoError(t, w.Close())
		require.Equal(t, "20", resumable(t, lw, path, "").Position())
	})
}

func TestNewResumableWatch_WithoutATrustworthyPositionThereIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "position")
	lw := &script{}
	_, err := openResumable(lw, path, "")
	require.ErrorIs(t, err, ErrNoPosition)
	require.ErrorContains(t, err, "there is no "+path)

	require.NoError(t, resumable(t, lw, path, "7").Close())
	for what, options := range map[string]Options{
		"cluster": {Path: path, Cluster: "other", Source: "services"},
		"source":  {Path: path, Cluster: "test", Source: "pods"},
	} {
		_, err := NewWatch(context.Background(), lw, metav1.ListOptions{}, options)
		require.ErrorIs(t, err, ErrNoPosition)
		require.ErrorIs(t, err, ErrForeign)
		require.ErrorContains(t, err, "its "+what)
	}
	_, err = NewWatch(context.Background(), lw, metav1.ListOptions{LabelSelector: "a=b"},
		Options{Path: path, Cluster: "test", Source: "services"})
	require.ErrorIs(t, err, ErrForeign, "another selector")

	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data[:len(data)-1], 0o600))
	_, err = openResumable(lw, path, "")
	require.ErrorIs(t, err, ErrNoPosition)
	require.ErrorIs(t, err, ErrDamaged)
}

func TestNewResumableWatch_WantsToKnowWhatItIsAbout(t *testing.T) {
	lw := &script{}
	for want, options := range map[string]Options{
		"needs a Path":                 {Cluster: "c", Source: "s"},
		"identity of its Cluster":      {Path: "p", Source: "s"},
		"does not say what it watches": {Path: "p", Cluster: "c"},
	} {
		_, err := NewWatch(context.Background(), lw, metav1.ListOptions{ResourceVersion: "1"}, options)
		require.ErrorContains(t, err, want)
	}
}

func TestResumableWatch_ADiskThatFailsKeepsTheOldPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "folder")
		require.NoError(t, os.Mkdir(folder, 0o700))
		lw := &script{watches: [][]step{{added("2")}}}
		w := resumable(t, lw, filepath.Join(folder, "position"), "1")
		next(t, w, "2")
		require.NoError(t, os.Rename(folder, folder+".away"))
		require.Error(t, w.Commit("2"))
		require.Equal(t, "1", w.Position())
		require.NoError(t, os.Rename(folder+".away", folder))
		require.NoError(t, w.Commit("2"))
		require.Equal(t, "2", w.Position())
		require.NoError(t, w.Close())
	})
}

func TestSource_SaysWhatIsWatched(t *testing.T) {
	cfg := serve(t, answer(jsonType, nil))
	a := servicesOf(t, cfg, listwatch.Options{Namespace: "shop", LabelSelector: "a=b"})
	require.Equal(t, "/api/v1/namespaces/shop/services?labelSelector=a%3Db", a.Source())
	others := []listwatch.Options{{}, {Namespace: "shop"}, {Namespace: "shop", FieldSelector: "metadata.name=x"}}
	sources := []string{SourceOf[*corev1.Service](a)}
	for _, opts := range others {
		sources = append(sources, servicesOf(t, cfg, opts).Source())
	}
	slices.Sort(sources)
	require.Len(t, slices.Compact(sources), len(others)+1)
	require.Empty(t, SourceOf[*corev1.Service](&script{}))
}

func TestClusterID_IsTheURLAndTheUIDOfKubeSystem(t *testing.T) {
	cfg := serve(t, answer(jsonType, []byte(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"4711"}}`)))
	id, err := ClusterID(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, cfg.Host+" 4711", id)
}

// statusAnswer refuses everything.
func statusAnswer(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d}`, code)
	}
}

func TestClusterID_WithoutPermissionIsTheURL(t *testing.T) {
	for _, code := range []int{401, 403, 404, 500} {
		cfg := serve(t, statusAnswer(code))
		id, err := ClusterID(t.Context(), cfg)
		if code == 500 {
			require.Error(t, err, "the next start would have another identity")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, cfg.Host, id)
	}
}
