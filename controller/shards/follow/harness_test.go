package follow

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
)

const shardCount = 16

// world is an API server with objects in several namespaces, in virtual time.
type world struct {
	*apiservertest.Server
	network http.RoundTripper
	field   shard.Field
	members map[string]*member

	mu   sync.Mutex
	uids map[listwatch.Key]types.UID // guarded by mu: of the objects that are there, and not about to be deleted
}

func inWorld(t *testing.T, field shard.Field, opts apiserver.Options, play func(w *world)) {
	apiservertest.InBubble(t, opts, func(t *testing.T, server *apiservertest.Server) {
		transport := &http.Transport{DialContext: server.Config.Dial}
		server.Cleanup(transport.CloseIdleConnections)
		w := &world{Server: server, network: transport, field: field, members: map[string]*member{},
			uids: map[listwatch.Key]types.UID{}}
		defer func() { // also if the story fails, because the bubble waits for all goroutines
			for name := range w.members {
				w.Leave(name)
			}
		}()
		for n := range 6 {
			name := fmt.Sprintf("%c-shop", 'a'+n)
			_, err := w.Client.CoreV1().Namespaces().Create(w.Context(),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			require.NoError(w, err)
			for o := range 5 {
				w.Put(name, fmt.Sprintf("c%d", o))
			}
		}
		play(w)
	})
}

func (w *world) Put(namespace, name string) *corev1.ConfigMap {
	w.Helper()
	made, err := w.Client.CoreV1().ConfigMaps(namespace).Create(context.Background(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(w, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uids[listwatch.KeyOf(made)] = made.UID
	return made
}

func (w *world) Delete(namespace, name string) {
	w.Helper()
	w.mu.Lock()
	delete(w.uids, listwatch.Key{Namespace: namespace, Name: name})
	w.mu.Unlock()
	err := w.Client.CoreV1().ConfigMaps(namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
	require.NoError(w, ignoreNotFound(err))
}

func (w *world) Leave(identity string) {
	m := w.members[identity]
	delete(w.members, identity)
	m.stop()
	require.NoError(w, <-m.ended)
}

// ExpectShared wants each shard to be listed by one member, and each member to follow its shards.
func (w *world) ExpectShared() {
	w.Helper()
	require.Empty(w, w.unshared())
}

func (w *world) unshared() (problems []string) {
	owners, of := map[int]string{}, 0
	for name, m := range w.members {
		for _, problem := range w.problems(m) {
			problems = append(problems, name+": "+problem)
		}
		if err := m.Ready(); err != nil {
			problems = append(problems, fmt.Sprintf("%s is not ready: %v", name, err))
		}
		of = m.of
		for s := range of {
			if !m.Listed(s) {
				continue
			}
			if owners[s] != "" {
				problems = append(problems, fmt.Sprintf("shard %d: listed by %s and %s", s, owners[s], name))
			}
			owners[s] = name
		}
	}
	if len(owners) != of {
		problems = append(problems, fmt.Sprintf("%d of %d shards are listed", len(owners), of))
	}
	return problems
}

// Touch changes an object, or makes it.
func (w *world) Touch(namespace, name string) *corev1.ConfigMap {
	w.Helper()
	obj, err := w.Client.CoreV1().ConfigMaps(namespace).Get(context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return w.Put(namespace, name)
	}
	require.NoError(w, err)
	obj.Labels = map[string]string{"touched": obj.ResourceVersion}
	obj, err = w.Client.CoreV1().ConfigMaps(namespace).Update(context.Background(), obj, metav1.UpdateOptions{})
	require.NoError(w, err)
	return obj
}

// Objects returns the server's objects of a shard, with their versions.
func (w *world) Objects(m *member, of func(shard int) bool) map[listwatch.Key]string {
	w.Helper()
	all, err := w.Client.CoreV1().ConfigMaps("").List(context.Background(), metav1.ListOptions{})
	require.NoError(w, err)
	found := map[listwatch.Key]string{}
	for _, obj := range all.Items {
		if of(m.Of(&obj)) {
			found[listwatch.KeyOf(&obj)] = obj.ResourceVersion
		}
	}
	return found
}

// ExpectFollows wants no problems.
func (w *world) ExpectFollows(m *member) {
	w.Helper()
	require.Empty(w, w.problems(m))
}

// problems says what of this does not hold. A member has listed what it holds. Its store and its handler have the
// server's objects of these shards; so have its sources, each object once. The handler was never told of a change of an
// object that it did not know, or twice of a new one.
func (w *world) problems(m *member) (problems []string) {
	want := w.Objects(m, m.Holds)
	synctest.Wait()
	for s := range m.of {
		if m.Holds(s) != m.Listed(s) {
			problems = append(problems, fmt.Sprintf("shard %d: held is %v, and listed is not", s, m.Holds(s)))
		}
	}
	for _, differ := range differences(want, versions(m)) {
		problems = append(problems, "the store: "+differ)
	}
	had := 0
	for _, source := range m.configs.Sources() {
		had += source.Objects
	}
	if had != len(want) {
		problems = append(problems, fmt.Sprintf("the sources have %d objects, not %d", had, len(want)))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, differ := range differences(want, m.view) {
		problems = append(problems, "the handler: "+differ)
	}
	return append(problems, m.untrue...)
}

func differences(want, got map[listwatch.Key]string) (differ []string) {
	for key, version := range want {
		if got[key] != version {
			differ = append(differ, fmt.Sprintf("%s: want %s, got %q", key, version, got[key]))
		}
	}
	for key, version := range got {
		if _, ok := want[key]; !ok {
			differ = append(differ, fmt.Sprintf("%s: want none, got %s", key, version))
		}
	}
	return differ
}

func versions(m *member) map[listwatch.Key]string {
	found := map[listwatch.Key]string{}
	for key, obj := range m.configs.Store().All() {
		found[key] = obj.ResourceVersion
	}
	return found
}

// Requests returns what a member has asked for since it was called last, in short: what it lists ("list"), lists by a
// streaming list ("stream"), or watches ("watch"), with the shards that are selected.
func (w *world) Requests(m *member) (requests []string) {
	w.Helper()
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, request := range m.requests {
		query, err := url.ParseQuery(request)
		require.NoError(w, err)
		sel, err := shard.Parse(query.Get("shardSelector"))
		require.NoError(w, err)
		require.LessOrEqual(w, len(sel.Ranges), MaxRanges)
		what := "list"
		switch {
		case query.Get("sendInitialEvents") == "true":
			what = "stream"
		case query.Get("watch") != "":
			what = "watch from " + query.Get("resourceVersion")
		}
		var selected []int
		for s := range m.of {
			if sel.Ranges.Contains(shard.Of(s, m.of).First) {
				selected = append(selected, s)
			}
		}
		requests = append(requests, fmt.Sprint(what, " ", selected))
	}
	m.requests = nil
	return requests
}

// Told returns what a member's handler was told since this was called last.
func (m *member) Told() []string {
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.told = nil }()
	return m.told
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
