package cache

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"
)

// storage is one of the two packages, by what tests of stores and queues need of it. Everything a test does with one it
// does with the other.
type storage struct {
	name            string
	indexer         func(KeyFunc, Indexers, TransformFunc) Indexer
	threadSafe      func(Indexers) ThreadSafeStore
	deltaFIFO       func(DeltaFIFOOptions) closableQueue
	realFIFO        func(RealFIFOOptions) batchQueue
	mutationCache   func(Store, MutationCacheOptions) MutationCache
	lister          func(Indexer) GenericLister
	listByNamespace listByNamespace
}

// closableQueue is what all queues of both packages have.
type closableQueue interface {
	Queue
	DoneChecker
	IsClosed() bool
}

type batchQueue interface {
	closableQueue
	QueueWithBatch
	TransformingStore
	ReflectorBookmarkStore
}

var clientGoStorage = storage{
	name: "client-go",
	indexer: func(k KeyFunc, i Indexers, t TransformFunc) Indexer {
		return clientgo.NewIndexer(k, i, clientgo.WithTransformer(t))
	},
	threadSafe: func(i Indexers) ThreadSafeStore { return clientgo.NewThreadSafeStore(i, clientgo.Indices{}) },
	deltaFIFO:  func(o DeltaFIFOOptions) closableQueue { return clientgo.NewDeltaFIFOWithOptions(o) },
	realFIFO:   func(o RealFIFOOptions) batchQueue { return clientgo.NewRealFIFOWithOptions(o) },
	mutationCache: func(s Store, o MutationCacheOptions) MutationCache {
		return clientgo.NewIntegerResourceVersionMutationCacheWithOptions(klog.Background(), s, o)
	},
	lister:          func(i Indexer) GenericLister { return clientgo.NewGenericLister(i, pods) },
	listByNamespace: clientgo.ListAllByNamespace,
}

var ourStorage = storage{
	name: "glasswatch",
	indexer: func(k KeyFunc, i Indexers, t TransformFunc) Indexer {
		return NewIndexer(k, i, WithTransformer(t))
	},
	threadSafe: func(i Indexers) ThreadSafeStore { return NewThreadSafeStore(i, Indices{}) },
	deltaFIFO:  func(o DeltaFIFOOptions) closableQueue { return NewDeltaFIFOWithOptions(o) },
	realFIFO:   func(o RealFIFOOptions) batchQueue { return NewRealFIFOWithOptions(o) },
	mutationCache: func(s Store, o MutationCacheOptions) MutationCache {
		return NewIntegerResourceVersionMutationCacheWithOptions(klog.Background(), s, o)
	},
	lister:          func(i Indexer) GenericLister { return NewGenericLister(i, pods) },
	listByNamespace: ListAllByNamespace,
}

// withBothStorages plays a story with each package.
func withBothStorages(t *testing.T, story func(t *testing.T, s storage)) {
	t.Helper()
	for _, s := range []storage{clientGoStorage, ourStorage} {
		t.Run(s.name, func(t *testing.T) { story(t, s) })
	}
}

var errKeyless = errors.New("keyless")

// keyOfPod is MetaNamespaceKeyFunc that no string has a key for.
func keyOfPod(obj any) (string, error) {
	if _, ok := obj.(string); ok {
		return "", errKeyless
	}
	return MetaNamespaceKeyFunc(obj)
}

// drawPod makes one of few pods, in a version of its own.
func drawPod(rt *rapid.T, version *int) *corev1.Pod {
	*version++
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace:       rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "namespace"),
		Name:            rapid.SampledFrom([]string{"x", "y", "z"}).Draw(rt, "name"),
		ResourceVersion: strconv.Itoa(*version),
		Labels:          map[string]string{"app": rapid.SampledFrom([]string{"web", "db"}).Draw(rt, "app")},
		Annotations:     map[string]string{"zones": rapid.SampledFrom([]string{"", "1", "1,2", "2,3", "3,3"}).Draw(rt, "zones")},
	}}
}

func drawPods(rt *rapid.T, version *int, most int) []any {
	pods := make([]any, rapid.IntRange(0, most).Draw(rt, "pods"))
	for i := range pods {
		pods[i] = drawPod(rt, version)
	}
	return pods
}

// byZones files a pod under any number of values, and fails on anything else.
func byZones(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("%T is in no zone", obj)
	}
	if pod.Annotations["zones"] == "" {
		return nil, nil
	}
	return strings.Split(pod.Annotations["zones"], ","), nil
}

func byApp(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Labels["app"]}, nil }

// printed is an order-free picture of objects: each by its key and version.
func printed(objs []any) []string {
	names := make([]string, len(objs))
	for i, obj := range objs {
		names[i] = printedOne(obj)
	}
	slices.Sort(names)
	return names
}

func printedOne(obj any) string {
	if pod, ok := obj.(*corev1.Pod); ok {
		return pod.Namespace + "/" + pod.Name + "@" + pod.ResourceVersion
	}
	return fmt.Sprint(obj)
}

func sorted(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	if len(names) == 0 {
		return nil
	}
	return names
}

// equalErrors requires two errors of the same kind, and of the same text.
func equalErrors(t require.TestingT, theirs, ours error, what string) {
	require.Equal(t, fmt.Sprint(theirs), fmt.Sprint(ours), what)
	var key KeyError
	require.Equal(t, errors.As(theirs, &key), errors.As(ours, &key), what)
}

var pods = schema.GroupResource{Resource: "pods"}

type listByNamespace = func(Indexer, string, labels.Selector, AppendFunc) error
