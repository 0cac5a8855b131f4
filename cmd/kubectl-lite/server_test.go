package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
)

// stage is an API server in virtual time, and a held ConfigMap named demo on it.
type stage struct {
	*apiservertest.Server
	maps typedcorev1.ConfigMapInterface
	file string
}

const held = "{apiVersion: v1, kind: ConfigMap, metadata: {name: demo, finalizers: [example.com/held]}}"

// onStage runs play in a bubble: everything that waits is seen to wait.
func onStage(t *testing.T, play func(s *stage)) {
	file := filepath.Join(t.TempDir(), "demo.yaml")
	require.NoError(t, os.WriteFile(file, []byte(held), 0o600))
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) {
		play(&stage{server, server.Client.CoreV1().ConfigMaps("default"), file})
	})
}

// runs is one command. One that would wait for ever fails.
func (s *stage) runs(args ...string) (code int, said string) {
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(s.Context(), time.Hour)
	defer cancel()
	code = execute(ctx, append(args, "-f", s.file), &out, &out, func() (*rest.Config, string, bool, error) {
		return s.Config, "default", false, nil
	})
	return code, out.String()
}

// deletes runs a delete in the background, up to where it waits for the object.
func (s *stage) deletes() (result func() (int, string)) {
	s.Helper()
	code, said, done := 0, "", make(chan struct{})
	go func() { defer close(done); code, said = s.runs("delete") }()
	synctest.Wait()
	require.Equal(s, 1, s.Faults().Watches(), "it watches")
	return func() (int, string) {
		<-done
		return code, said
	}
}

// releases removes the finalizer of demo.
func (s *stage) releases() {
	_, err := s.maps.Patch(s.Context(), "demo", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(s, err)
}

const deletedLine = "configmap \"demo\" deleted from default namespace\n"

// The deletion happens while there is no watch, and the history does not reach back: only a list shows it. By then
// somebody may have created another object of that name. (The demo shows the deletion as an event.)
func TestDelete_CopesWithATombstoneAndWithASuccessor(t *testing.T) {
	for _, successor := range []bool{false, true} {
		onStage(t, func(s *stage) {
			code, said := s.runs("apply")
			require.Zero(s, code, said)
			result := s.deletes()
			require.NotZero(s, s.Faults().ExpireWatches())
			synctest.Wait()
			s.releases()
			if successor {
				_, err := s.maps.Create(s.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}, metav1.CreateOptions{})
				require.NoError(s, err)
			}
			s.Faults().Compact()
			code, said = result()
			require.Zero(s, code)
			require.Equal(s, deletedLine, said)
		})
	}
}

// Nor does it wait where the kind itself is gone (404). In either case, it waits for the other objects.
func TestDelete_DoesNotWaitWhereItMayNotLook(t *testing.T) {
	for i, verb := range []string{"get", "list", "watch", "get", "list", "watch"} {
		onStage(t, func(s *stage) {
			require.NoError(s, os.WriteFile(s.file, []byte(strings.Replace(held, "demo", "first", 1)+"\n---\n"+held), 0o600))
			s.runs("apply")
			s.Faults().RefuseStreamingLists(verb == "list")
			s.Faults().FailNext(1, apiserver.Failure{Verb: verb, Code: 403 + i/3})
			result := s.deletes()
			s.releases()
			code, said := result()
			require.Zero(s, code)
			require.Equal(s, strings.Replace(deletedLine, "demo", "first", 1)+deletedLine, said)
		})
	}
}

func TestWait_TheObjectWentBeforeTheFirstList(t *testing.T) {
	onStage(t, func(s *stage) {
		lw, err := listwatch.NewMetadata(s.Config, corev1.SchemeGroupVersion.WithResource("configmaps"), listwatch.Options{Namespace: "default"})
		require.NoError(s, err)
		ctx, cancel := context.WithTimeout(s.Context(), time.Hour)
		defer cancel()
		require.NoError(s, watchUntilGone(ctx, lw, "gone"))
	})
}

func TestApply_SaysThatItWasAppliedWhereItMayNotRead(t *testing.T) {
	onStage(t, func(s *stage) {
		s.Faults().FailNext(1, apiserver.Failure{Verb: "get", Resource: "configmaps", Code: 403})
		code, said := s.runs("apply")
		require.Zero(s, code)
		require.Equal(s, "configmap/demo serverside-applied\n", said)
		_, said = s.runs("apply")
		require.Equal(s, "configmap/demo unchanged\n", said)
	})
}

func TestApply_OneMoreOwnerIsAChange(t *testing.T) {
	onStage(t, func(s *stage) {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "demo", Finalizers: []string{"example.com/held"}}}
		_, err := s.maps.Create(s.Context(), made, metav1.CreateOptions{FieldManager: "somebody"})
		require.NoError(s, err)
		_, said := s.runs("apply")
		require.Equal(s, "configmap/demo configured\n", said)
	})
}
