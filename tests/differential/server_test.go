package differential

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// server is the API server that all informers of a history ask, each through a gate of its own.
type server struct {
	*apiservertest.Server
	maps corev1client.ConfigMapInterface // of all namespaces

	// What the world says. Zero values: all in one page; a watch cache that is never behind.
	pageSize int64
	noCache  bool
	refuses  bool // a watch from a forgotten version is refused; otherwise an event ends it
	lag      int

	first     int // the revision of the empty server
	compacted int // the revision before which nothing is known

	mu      sync.Mutex // protects everything below, and the gates' fields
	changed sync.Cond  // on mu: any change that a held request may need
	held    bool
	gates   []*gate
}

// noNamespace has the objects whose keys have no namespace. The gates take it off.
const noNamespace = "none"

func splitKey(key string) (namespace, name string) {
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		return noNamespace, key
	}
	return namespace, name
}

func takeOff(obj *corev1.ConfigMap) {
	if obj.Namespace == noNamespace {
		obj.Namespace = ""
	}
}

// newServer has the namespaces of all keys. Call it in a bubble.
func newServer(t *testing.T) *server {
	s := &server{Server: apiservertest.Start(t, apiserver.Options{})}
	s.changed.L = &s.mu
	s.maps = s.Client.CoreV1().ConfigMaps(metav1.NamespaceAll)
	for _, name := range []string{"x", "y", "z", noNamespace} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := s.Client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	s.first = s.head()
	return s
}

// gate makes a way to the server for one more informer.
func (s *server) gate() *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &gate{server: s, planned: map[string][]failure{}}
	s.gates = append(s.gates, g)
	return g
}

// head is the newest revision.
func (s *server) head() int {
	one, err := s.maps.List(s.Context(), metav1.ListOptions{Limit: 1})
	require.NoError(s, err)
	head, err := strconv.Atoi(one.ResourceVersion)
	require.NoError(s, err)
	return head
}

// put creates or changes the object of a key, and returns its resourceVersion.
func (s *server) put(key string) string {
	namespace, name := splitKey(key)
	obj := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"follows": strconv.Itoa(s.head())},
	}
	return s.PutObject(obj).ResourceVersion
}

// remove deletes the object of a key, if it is there, and returns the resourceVersion of its end.
func (s *server) remove(key string) string {
	namespace, name := splitKey(key)
	err := s.Client.CoreV1().ConfigMaps(namespace).Delete(s.Context(), name, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		require.NoError(s, err)
	}
	return strconv.Itoa(s.head())
}

// elsewhere is a write to another resource: the revision rises and no watch gets an event.
func (s *server) elsewhere() {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "elsewhere-"}}
	_, err := s.Client.CoreV1().Secrets("x").Create(s.Context(), secret, metav1.CreateOptions{})
	require.NoError(s, err)
}

// bookmark lets each open watch tell the newest revision, after all events before it.
func (s *server) bookmark() {
	synctest.Wait()
	event := watch.Event{Type: watch.Bookmark, Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(s.head())}}}
	s.change(func() {
		for _, g := range s.gates {
			for _, w := range g.watches {
				w.bookmarks <- event
			}
		}
	})
	synctest.Wait()
}

// compact forgets the history.
func (s *server) compact() {
	s.compacted = s.head()
	s.Faults().Compact()
}

// objects returns the resourceVersions of what is there.
func (s *server) objects() map[string]string {
	all, err := s.maps.List(s.Context(), metav1.ListOptions{})
	require.NoError(s, err)
	versions := map[string]string{}
	for _, obj := range all.Items {
		takeOff(&obj)
		versions[keyOf(&obj)] = obj.ResourceVersion
	}
	return versions
}

// hold lets requests wait, or lets all of them pass. Open watches go on.
func (s *server) hold(held bool) {
	s.change(func() { s.held = held })
}

// permit lets n requests of each gate pass, although they are held.
func (s *server) permit(n int) {
	s.change(func() {
		for _, g := range s.gates {
			g.permits = n
		}
	})
}

// fail plans a failure of the next request of each gate: a list (its first page), a stream or a plain watch.
func (s *server) fail(verb string, how failure) {
	s.change(func() {
		for _, g := range s.gates {
			g.planned[verb] = append(g.planned[verb], how)
		}
	})
}

// forgive drops the planned failures.
func (s *server) forgive() {
	s.change(func() {
		for _, g := range s.gates {
			clear(g.planned)
		}
	})
}

func (s *server) change(what func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what()
	s.changed.Broadcast()
}
