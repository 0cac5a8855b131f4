package cache

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"
)

// server is where writes happen. The stores hear of them later, in order.
type server struct {
	version int
	objs    map[string]*corev1.Pod
	history []event
}

type event struct {
	obj     *corev1.Pod
	deleted bool
}

func (s *server) write(rt *rapid.T) *corev1.Pod {
	pod := drawPod(rt, &s.version)
	pod.UID = types.UID(strconv.Itoa(s.version))
	key, _ := keyOfPod(pod)
	if old := s.objs[key]; old != nil {
		pod.UID = old.UID
	}
	s.objs[key] = pod
	s.history = append(s.history, event{obj: pod})
	return pod
}

func (s *server) remove(rt *rapid.T) {
	pod := drawPod(rt, &s.version)
	key, _ := keyOfPod(pod)
	if old := s.objs[key]; old != nil {
		pod.UID = old.UID
		delete(s.objs, key)
		s.history = append(s.history, event{obj: pod, deleted: true})
	}
}

func TestMutationCache_DoesWhatClientGosDoes(t *testing.T) {
	for _, includeAdds := range []bool{false, true} {
		rapid.Check(t, func(rt *rapid.T) {
			srv := &server{objs: map[string]*corev1.Pod{}}
			backing := NewIndexer(keyOfPod, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
			opts := MutationCacheOptions{Indexer: backing, IncludeAdds: includeAdds}
			theirs, ours := clientGoStorage.mutationCache(backing, opts), ourStorage.mutationCache(backing, opts)
			var answers []*corev1.Pod // of writes, that the program has not looked at
			for range rapid.IntRange(0, 40).Draw(rt, "steps") {
				switch rapid.IntRange(0, 6).Draw(rt, "step") {
				case 0, 1:
					answers = append(answers, srv.write(rt))
				case 2:
					srv.write(rt) // somebody else's
				case 3:
					srv.remove(rt)
				case 4:
					for _, pod := range answers {
						theirs.Mutation(pod)
						ours.Mutation(pod)
					}
					answers = nil
				default:
					if len(srv.history) == 0 {
						continue
					}
					e := srv.history[0]
					srv.history = srv.history[1:]
					if e.deleted {
						require.NoError(rt, backing.Delete(e.obj))
					} else {
						require.NoError(rt, backing.Add(e.obj))
					}
					if rapid.Bool().Draw(rt, "the cache is told") {
						for _, c := range []MutationCache{theirs, ours} {
							if e.deleted {
								c.OnDelete(e.obj)
							} else {
								c.OnAddOrUpdate(e.obj)
							}
						}
					}
				}
				requireSameView(rt, backing, theirs, ours)
			}
		})
	}
}

// requireSameView compares all reads but GetByKey of what the backing store does not have: client-go forgets it then.
func requireSameView(rt *rapid.T, backing Indexer, theirs, ours MutationCache) {
	for _, namespace := range []string{"", "a", "b"} {
		objs, err := theirs.ByIndex(NamespaceIndex, namespace)
		ourObjs, ourErr := ours.ByIndex(NamespaceIndex, namespace)
		require.NoError(rt, err)
		require.NoError(rt, ourErr)
		require.Equal(rt, printed(objs), printed(ourObjs))
		for _, name := range []string{"x", "y", "z"} {
			key := NewObjectName(namespace, name).String()
			if _, backed, _ := backing.GetByKey(key); !backed {
				continue
			}
			obj, exists, err := theirs.GetByKey(key)
			ourObj, ourExists, ourErr := ours.GetByKey(key)
			require.Equal(rt, []any{exists, err}, []any{ourExists, ourErr})
			require.Same(rt, asPod(obj), asPod(ourObj))
		}
	}
}

func TestMutationCache_ReadsItsOwnAddMoreThanOnce(t *testing.T) {
	withBothStorages(t, func(t *testing.T, s storage) {
		c := s.mutationCache(NewStore(keyOfPod), MutationCacheOptions{IncludeAdds: true})
		pod := &corev1.Pod{}
		pod.Name, pod.ResourceVersion = "x", "1"
		c.Mutation(pod)
		for reads := range 3 {
			_, exists, err := c.GetByKey("x")
			require.NoError(t, err)
			require.Equal(t, s.name == ourStorage.name || reads == 0, exists, "client-go takes the first read for the store's")
		}
	})
}

func TestMutationCache_WithoutIncludeAddsHasNothingThatTheStoreHasNot(t *testing.T) {
	withBothStorages(t, func(t *testing.T, s storage) {
		c := s.mutationCache(NewStore(keyOfPod), MutationCacheOptions{})
		pod := &corev1.Pod{}
		pod.Name, pod.ResourceVersion = "x", "1"
		c.Mutation(pod)
		_, exists, err := c.GetByKey("x")
		require.NoError(t, err)
		require.False(t, exists)
	})
}

func TestMutationCache_ByIndexGoesByTheNewerVersion(t *testing.T) {
	backing := NewIndexer(keyOfPod, Indexers{"app": byApp})
	c := NewIntegerResourceVersionMutationCache(klog.Background(), backing, backing, 0, false)
	was := &corev1.Pod{}
	was.Name, was.ResourceVersion, was.Labels = "x", "1", map[string]string{"app": "web"}
	is := was.DeepCopy()
	is.ResourceVersion, is.Labels["app"] = "2", "db"
	require.NoError(t, backing.Add(was))
	c.Mutation(is)
	web, err := c.ByIndex("app", "web")
	require.NoError(t, err)
	require.Empty(t, web)
	db, err := c.ByIndex("app", "db")
	require.NoError(t, err)
	require.Equal(t, []any{is}, db)
}

func TestMutationCache_AVersionThatIsNoIntegerIsNoPanic(t *testing.T) {
	backing := NewStore(keyOfPod)
	pod, odd := &corev1.Pod{}, &corev1.Pod{}
	pod.Name, pod.ResourceVersion = "x", "1"
	odd.Name, odd.ResourceVersion = "x", "one"
	require.NoError(t, backing.Add(pod))
	theirs, ours := clientGoStorage.mutationCache(backing, MutationCacheOptions{}), ourStorage.mutationCache(backing, MutationCacheOptions{})
	theirs.Mutation(odd)
	ours.Mutation(odd)
	require.Panics(t, func() { _, _, _ = theirs.GetByKey("x") })
	obj, exists, err := ours.GetByKey("x")
	require.NoError(t, err)
	require.True(t, exists)
	require.Same(t, pod, obj)
	_, err = ours.ByIndex("app", "web")
	require.Error(t, err, "it was given no indexer")
}
