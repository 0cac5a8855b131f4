package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// onEachServer runs a test on the API server in memory and, if it was built, on a real one.
func onEachServer(t *testing.T, test func(t *testing.T, kubeconfig string)) {
	for _, kind := range []string{"embedded", "controlplane"} {
		t.Run(kind, func(t *testing.T) {
			s, err := startServer(kind)
			require.NoError(t, err)
			defer func() { require.NoError(t, s.stop()) }()
			test(t, s.kubeconfig)
		})
	}
}

func newClient(t *testing.T, kubeconfig string) kubernetes.Interface {
	cfg, err := configFor(kubeconfig)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	return client
}

func TestFill_LeavesPodsOfThreeWriters(t *testing.T) {
	onEachServer(t, func(t *testing.T, kubeconfig string) {
		client := newClient(t, kubeconfig)
		pods, err := fill(t.Context(), client, templates)
		require.NoError(t, err)
		require.Len(t, pods, templates)
		for _, pod := range pods {
			require.Equal(t, []writer{
				{applyManager, metav1.ManagedFieldsOperationApply, ""},
				{replicaSetManager, metav1.ManagedFieldsOperationUpdate, ""},
				{kubeletManager, metav1.ManagedFieldsOperationUpdate, "status"},
			}, writersOf(pod))
			require.InDelta(t, 7800, pod.Size(), 800)
			require.Equal(t, corev1.PodRunning, pod.Status.Phase)
			require.Len(t, pod.Status.Conditions, 5)
			require.Len(t, pod.Status.ContainerStatuses, 2)
			require.Contains(t, pod.Annotations, "cost.example.com/centre")
			set, err := client.AppsV1().ReplicaSets(pod.Namespace).Get(t.Context(), pod.OwnerReferences[0].Name, metav1.GetOptions{})
			require.NoError(t, err)
			require.Equal(t, set.UID, pod.OwnerReferences[0].UID, "or it would be garbage")
		}
	})
}

type writer struct {
	manager     string
	operation   metav1.ManagedFieldsOperationType
	subresource string
}

func writersOf(pod *corev1.Pod) (all []writer) {
	for _, entry := range pod.ManagedFields {
		all = append(all, writer{entry.Manager, entry.Operation, entry.Subresource})
	}
	return all
}

func TestFill_KeepsThePodsThatAreThere(t *testing.T) {
	s, err := startServer("embedded")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.stop()) }()
	client := newClient(t, s.kubeconfig)

	before, err := fill(t.Context(), client, 10)
	require.NoError(t, err)
	after, err := fill(t.Context(), client, 15)
	require.NoError(t, err)
	require.Len(t, after, 15)
	for _, pod := range before {
		require.Contains(t, after, pod)
	}
	_, err = fill(t.Context(), client, 14)
	require.ErrorContains(t, err, "15 pods already, more than 14")
}

// This is a small run of the whole: its figures are not comparable, but all of them must be there.
func TestRun_MeasuresEachVariantAndWritesThePage(t *testing.T) {
	out, profiles := t.TempDir(), t.TempDir()
	require.NoError(t, run(t.Context(), options{
		n: 200, rounds: 1, server: "embedded", variants: variants, storms: []weather{{lasts: time.Second / 2, rate: 100}, {lasts: time.Second / 4}},
		profiles: profiles, write: true, out: out, rawOut: out,
	}, io.Discard))
	page, err := os.ReadFile(filepath.Join(out, "coldsync.md"))
	require.NoError(t, err)
	raw, err := os.ReadFile(filepath.Join(out, "coldsync.txt"))
	require.NoError(t, err)
	for _, name := range variants {
		require.Contains(t, string(page), "\n| "+name+" |")
		require.Contains(t, string(raw), "/impl="+name+"-")
		for _, kind := range []string{".cpu.pprof", ".heap.pprof"} {
			require.FileExists(t, filepath.Join(profiles, name+kind))
		}
	}
	require.Contains(t, string(page), "## A storm of updates, 100/s, for 500ms")
	require.Contains(t, string(page), "## A storm of updates, as many as the server takes, for 250ms")
	require.NotContains(t, string(page), " – |", "each figure was measured")
}

func TestRun_OnARealServer(t *testing.T) {
	s, err := startServer("controlplane")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.stop()) }()
	w := &world{kubeconfig: s.kubeconfig, client: newClient(t, s.kubeconfig), storms: []weather{{lasts: time.Second / 2, rate: 50}, {lasts: time.Second / 4}}}
	w.pods, err = fill(t.Context(), w.client, 60)
	require.NoError(t, err)
	results, err := w.play(t.Context(), []string{glasswatch, clientGo, floor}, 1)
	require.NoError(t, err)
	for name, r := range results {
		require.Equal(t, 60, r[0].Objects, name)
		require.Len(t, r[0].storms, 2, name)
		require.NotZero(t, r[0].storms[0].Rate, name)
		require.NotZero(t, r[0].storms[1].Rate, name)
	}
}

func TestMeasure_SubjectsKeepWhatTheirNamesSay(t *testing.T) {
	s, err := startServer("embedded")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.stop()) }()
	w := &world{kubeconfig: s.kubeconfig, client: newClient(t, s.kubeconfig)}
	w.pods, err = fill(t.Context(), w.client, 300)
	require.NoError(t, err)
	held := map[string]uint64{}
	for _, name := range variants {
		r, err := w.one(t.Context(), name)
		require.NoError(t, err)
		require.Empty(t, r.storms, "none was asked for")
		held[name] = r.Live
	}
	smaller := func(one, other string) {
		require.Less(t, float64(held[one]), 0.9*float64(held[other]), "%s beside %s", one, other)
	}
	smaller(glasswatch, glasswatchUnshared)
	smaller(glasswatchStripped, glasswatch)
	smaller(clientGoStripped, clientGo)
	smaller(floor, glasswatchStripped)

	w.pods = w.pods[1:]
	_, err = w.one(t.Context(), floor)
	require.ErrorContains(t, err, "300 pods seen, but there are 299")
}

func TestMeasure_AFailureSaysWhatTheProcessSaid(t *testing.T) {
	w := &world{kubeconfig: "/there/is/none"}
	_, err := w.one(t.Context(), glasswatch)
	require.ErrorContains(t, err, "/there/is/none: no such file")
	_, err = w.one(t.Context(), "another")
	require.ErrorContains(t, err, `no variant "another"`)
}

func TestRun_RefusesWhatItCannotMeasure(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), options{variants: []string{"client-og"}}, io.Discard), `no variant "client-og"`)
	require.ErrorContains(t, run(t.Context(), options{variants: variants, rounds: 1}, io.Discard), "at least 1")
	_, err := startServer("/there/is/none")
	require.ErrorContains(t, err, "a kubeconfig's path")
}
