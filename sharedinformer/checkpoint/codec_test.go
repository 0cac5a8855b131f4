package checkpoint

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"glasswatch/listwatch"
	"glasswatch/listwatch/resume"
)

var codecTestID = resume.Identity{Kind: "informer", Cluster: "test"}

// written are the frames that a checkpoint of these objects has.
func written[T listwatch.Object](t require.TestingT, version string, objs ...T) [][]byte {
	codec, err := newObjectCodec[T]()
	require.NoError(t, err)
	all := map[key]T{}
	for _, obj := range objs {
		all[listwatch.KeyOf(obj)] = obj
	}
	frames, err := framesOf(t, fileOf(t, codecTestID, func(write func([]byte)) error {
		return codec.encode(write, version, len(all), maps.All(all))
	}))
	require.NoError(t, err)
	return frames
}

// fileOf returns the content of a file that fill writes.
func fileOf(t require.TestingT, id resume.Identity, fill func(func([]byte)) error) []byte {
	path := tempFile(t)
	defer os.RemoveAll(filepath.Dir(path))
	require.NoError(t, resume.Save(path, id, fill))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

// framesOf returns the frames of a file with that content.
func framesOf(t require.TestingT, content []byte) ([][]byte, error) {
	path := tempFile(t)
	defer os.RemoveAll(filepath.Dir(path))
	require.NoError(t, os.WriteFile(path, content, 0o600))
	return resume.Load(path, codecTestID)
}

func tempFile(t require.TestingT) string {
	folder, err := os.MkdirTemp("", "checkpoint")
	require.NoError(t, err)
	return filepath.Join(folder, "file")
}

func requireRoundTrip[T listwatch.Object](t *testing.T, obj T) {
	t.Helper()
	codec, err := newObjectCodec[T]()
	require.NoError(t, err)
	version, objs, err := codec.decode(written(t, "17", obj))
	require.NoError(t, err)
	require.Equal(t, "17", version)
	require.Len(t, objs, 1)
	require.True(t, apiequality.Semantic.DeepEqual(obj, objs[0]), "%v", objs[0])
}

func TestCheckpointCodec_ObjectsComeBackAsTheyWere(t *testing.T) {
	limit := apiresource.MustParse("1Gi")
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "a", ResourceVersion: "12", Labels: map[string]string{"a": "b"}}
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Volumes: []corev1.Volume{{
		Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}},
	}}}}
	requireRoundTrip(t, pod)
	withKind := pod.DeepCopy()
	withKind.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	requireRoundTrip(t, withKind)
	requireRoundTrip(t, &metav1.PartialObjectMetadata{ObjectMeta: meta})
	requireRoundTrip(t, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"},
		"spec": map[string]any{"n": int64(1), "f": 1.5, "s": "x", "l": []any{nil, true, map[string]any{}}},
	}})
}

// A Quantity writes itself when it is encoded. The object is in the store, where others read it.
func TestCheckpointCodec_WritesNothingIntoTheObjects(t *testing.T) {
	limit := *apiresource.NewQuantity(1<<30, apiresource.BinarySI)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{{
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}},
	}}}}
	untouched := limit
	written(t, "1", pod)
	require.Equal(t, untouched, *pod.Spec.Volumes[0].EmptyDir.SizeLimit)
}

func TestCheckpointCodec_WhatDoesNotFitTogetherIsDamaged(t *testing.T) {
	codec, err := newObjectCodec[*config]()
	require.NoError(t, err)
	obj := func(name string) *config {
		return &config{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	}
	good := written(t, "17", obj("a"), obj("b"))
	for what, frames := range map[string][][]byte{
		"nothing":           nil,
		"an object less":    good[:2],
		"an object more":    append(append([][]byte{}, good...), good[1]),
		"an object twice":   {good[0], good[1], good[1]},
		"an object unnamed": written(t, "17", obj("")),
		"no version":        written[*config](t, ""),
		"version zero":      written[*config](t, "0"),
		"an empty frame":    {good[0], good[1], {}},
		"another encoding":  {good[0], good[1], append([]byte{'x'}, good[2][1:]...)},
		"garbage":           {good[0], good[1], []byte("p\xff\xff\xff")},
	} {
		_, objs, err := codec.decode(frames)
		require.ErrorIs(t, err, resume.ErrDamaged, what)
		require.Nil(t, objs, what)
	}
}
