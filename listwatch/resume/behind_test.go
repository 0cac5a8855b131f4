package resume

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

// at is a server that has come to a version, or cannot say to which.
type at struct {
	*script
	version string
	err     error
	lists   []metav1.ListOptions
}

func (s *at) List(_ context.Context, opts metav1.ListOptions) (*listwatch.List[*corev1.Service], error) {
	s.lists = append(s.lists, opts)
	if s.err != nil {
		return nil, s.err
	}
	return &listwatch.List[*corev1.Service]{ResourceVersion: s.version}, nil
}

func TestRejectIfServerBehind_RefusesAWatchFromAVersionThatTheServerHasNotComeTo(t *testing.T) {
	for _, c := range []struct {
		server  string
		refused bool
	}{{"41", true}, {"42", false}, {"43", false}, {"not a version", true}} {
		server := &at{script: &script{}, version: c.server}
		lw := RejectIfServerBehind(listwatch.ListerWatcher[*corev1.Service](server), "42")
		_, err := lw.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "42", LabelSelector: "a=b"})
		require.Equal(t, c.refused, apierrors.IsResourceExpired(err), "%s: %v", c.server, err)
		require.Equal(t, []metav1.ListOptions{{LabelSelector: "a=b", Limit: 1}}, server.lists)
		require.Equal(t, c.refused, len(server.asked) == 0)
	}
}

func TestRejectIfServerBehind_AsksOnceAndOnlyAboutItsVersion(t *testing.T) {
	server := &at{script: &script{}, version: "42", err: errors.New("away")}
	lw := RejectIfServerBehind(listwatch.ListerWatcher[*corev1.Service](server), "42")
	_, err := lw.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "7"})
	require.NoError(t, err)
	require.Empty(t, server.lists)
	_, err = lw.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "42"})
	require.EqualError(t, err, "away")
	server.err = nil
	for range 2 {
		_, err = lw.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "42"})
		require.NoError(t, err)
	}
	require.Len(t, server.lists, 2, "again after the error, and not once it is known")
}

func TestResumableWatch_APositionAheadOfTheServerIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "position")
	lw := &at{script: &script{}, version: "41"}
	require.NoError(t, resumable(t, lw, path, "42").Close())
	require.Empty(t, lw.lists, "a position that was given is the program's own")
	_, err := resumable(t, lw, path, "").Next()
	require.ErrorIs(t, err, ErrPositionLost)
	require.ErrorContains(t, err, "set back")
}
