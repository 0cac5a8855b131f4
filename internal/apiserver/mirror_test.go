package apiserver_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"

	"glasswatch/internal/apiserver"
)

// mirror follows the ConfigMaps with a label, by the simplest code: list in pages, watch, and start over on an error.
type mirror struct {
	client typedcore.ConfigMapInterface

	mu    sync.Mutex
	state map[string]string // name to resourceVersion
	lists int
}

const watched = "watched=yes"

func (m *mirror) run(ctx context.Context) {
	for ctx.Err() == nil {
		rv, ok := m.list(ctx)
		for ok && ctx.Err() == nil {
			rv, ok = m.watch(ctx, rv)
		}
	}
}

func (m *mirror) list(ctx context.Context) (rv string, ok bool) {
	state := map[string]string{}
	opts := metav1.ListOptions{LabelSelector: watched, Limit: 2}
	for {
		page, err := m.client.List(ctx, opts)
		if err != nil {
			<-time.After(time.Millisecond)
			return "", false
		}
		for _, o := range page.Items {
			state[o.Name] = o.ResourceVersion
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.state, m.lists = state, m.lists+1
			return page.ResourceVersion, true
		}
	}
}

// watch returns the version to go on from; ok is false if that needs a list.
func (m *mirror) watch(ctx context.Context, rv string) (string, bool) {
	w, err := m.client.Watch(ctx, metav1.ListOptions{LabelSelector: watched, ResourceVersion: rv, AllowWatchBookmarks: true})
	if err != nil {
		<-time.After(time.Millisecond)
		return rv, !apierrors.IsResourceExpired(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		o, isObject := e.Object.(*corev1.ConfigMap)
		if !isObject {
			return "", !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) && rv != ""
		}
		rv = o.ResourceVersion
		m.mu.Lock()
		switch e.Type {
		case watch.Added, watch.Modified:
			m.state[o.Name] = rv
		case watch.Deleted:
			delete(m.state, o.Name)
		}
		m.mu.Unlock()
	}
	return rv, true
}

func (m *mirror) read() (map[string]string, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.state), m.lists
}

// shake does something at random.
func (c *cluster) shake(r *rand.Rand) {
	name := fmt.Sprintf("cm-%d", r.IntN(6))
	label := map[string]string{"watched": []string{"yes", "no"}[r.IntN(2)]}
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: label}}
		if _, err := c.configMaps().Create(c.Context(), obj, metav1.CreateOptions{}); err != nil {
			require.True(c, apierrors.IsAlreadyExists(err), "%v", err)
		}
	case 4, 5, 6:
		obj, err := c.configMaps().Get(c.Context(), name, metav1.GetOptions{})
		if err != nil {
			return
		}
		obj.Labels, obj.Data = label, map[string]string{"x": randomName()}
		_, err = c.configMaps().Update(c.Context(), obj, metav1.UpdateOptions{})
		require.NoError(c, err)
	case 7:
		_ = c.configMaps().Delete(c.Context(), name, metav1.DeleteOptions{})
	case 8:
		c.Faults().DropWatches()
	case 9:
		c.Faults().BreakWatches()
	case 10:
		c.Faults().Compact()
		c.Faults().DropWatches()
	case 11:
		c.Faults().CutNextFrame()
	}
}

func TestServer_AMirrorStaysEqualWhateverHappens(t *testing.T) {
	const seeds = 12
	lists, ended := 0, 0
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			story(t, apiserver.Options{HistoryLimit: 5}, func(t *testing.T, c *cluster) {
				m := &mirror{client: c.configMaps()}
				ctx, cancel := context.WithCancel(c.Context())
				done := make(chan struct{})
				go func() { defer close(done); m.run(ctx) }()
				r := rand.New(rand.NewPCG(seed, 0))
				for range 40 {
					for range r.IntN(6) {
						c.shake(r)
					}
					<-time.After(time.Second)
					synctest.Wait()
					want := map[string]string{}
					list, err := c.configMaps().List(c.Context(), metav1.ListOptions{LabelSelector: watched})
					require.NoError(t, err)
					for _, o := range list.Items {
						want[o.Name] = o.ResourceVersion
					}
					got, _ := m.read()
					require.Equal(t, want, got)
				}
				_, n := m.read()
				lists, ended = lists+n, ended+1
				cancel()
				<-done
			})
		})
	}
	if ended == seeds { // with one seed, how often that happens is also a matter of chance
		require.Greater(t, lists, 2*seeds, "history was lost")
	}
}
