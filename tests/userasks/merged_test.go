package userasks

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer/merged"
)

// views are the two parts of the cluster that a program may see: what team a owns, and what is public, in all namespaces.
var views = []string{"team=a", "public=yes"}

// story is the life of one object that both parts have, until a gives it away, and until it is public no longer.
func (c *cluster) story(told *notes) (lines [3][]string) {
	write := func(labels map[string]string) {
		obj := configMap("x", "1")
		obj.Labels = labels
		c.PutObject(obj)
		apiservertest.Pass(2 * time.Minute) // bookmarks come once a minute
	}
	write(map[string]string{"team": "a", "public": "yes"})
	lines[0] = told.read()
	write(map[string]string{"team": "b", "public": "yes"})
	lines[1] = told.read()
	write(map[string]string{"team": "b"})
	lines[2] = told.read()
	return lines
}

// Selectors have no "or", and a role may allow some namespaces and not all. So there are several lists, and one cache is
// wanted.
func TestSeveralSelectorsMakeOneStore(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		c, told := startCluster(t), notes{}
		client, err := kubernetes.NewForConfig(c.cfg)
		require.NoError(t, err)
		var stores []cache.Store
		for _, view := range views {
			informer := coreinformers.NewFilteredConfigMapInformer(client, metav1.NamespaceAll, 0, nil,
				func(opts *metav1.ListOptions) { opts.LabelSelector = view })
			tellAll(t, informer, &told)
			start(t, informer.RunWithContext)
			require.True(t, cache.WaitFor(t.Context(), "", informer.HasSyncedChecker()))
			stores = append(stores, informer.GetStore())
		}
		// An informer has one list and one watch, so there are two, with a store each. What both have is told twice, and is
		// gone as soon as one of them has it no more.
		lines := c.story(&told)
		require.Equal(t, []string{"add x", "add x"}, lines[0])
		require.ElementsMatch(t, []string{"delete x", "update x"}, lines[1])
		require.Equal(t, []string{"delete x"}, lines[2])
		require.Len(t, stores, 2)
	})
	glasswatch(t, func(t *testing.T) {
		c, told := startCluster(t), notes{}
		var sources []merged.Source[*corev1.ConfigMap]
		for _, view := range views {
			lw, err := listwatch.NewForConfig[*corev1.ConfigMap](c.cfg, corev1.SchemeGroupVersion.WithResource("configmaps"),
				listwatch.Options{LabelSelector: view})
			require.NoError(t, err)
			sources = append(sources, merged.Source[*corev1.ConfigMap]{Name: view, ListerWatcher: lw})
		}
		informer, err := merged.New(sources, merged.Options[*corev1.ConfigMap]{})
		require.NoError(t, err)
		_, err = informer.AddHandler(telling(&told), handlerOptions{})
		require.NoError(t, err)
		startInformer(t, informer)
		require.NoError(t, informer.WaitForSync(context.Background()))
		lines := c.story(&told)
		require.Equal(t, []string{"add x"}, lines[0])
		require.Equal(t, []string{"update x"}, lines[1])
		require.Equal(t, []string{"delete x"}, lines[2])
		require.Zero(t, informer.Store().Len())
		for _, source := range informer.Sources() {
			require.NotEmpty(t, source.ResourceVersion, "each has a watch and a version of its own")
		}
	})
}

// The same for namespaces: two of three may be seen.
func TestSeveralNamespacesMakeOneStore(t *testing.T) {
	namespaces := []string{"default", "kube-system"}
	fill := func(c *cluster) {
		for _, namespace := range append(namespaces, "kube-public") {
			obj := configMap("x", "1")
			obj.Namespace = namespace
			c.PutObject(obj)
		}
	}
	clientGo(t, func(t *testing.T) {
		c := startCluster(t)
		fill(c)
		client, err := kubernetes.NewForConfig(c.cfg)
		require.NoError(t, err)
		found := 0
		for _, namespace := range namespaces {
			informer := coreinformers.NewConfigMapInformer(client, namespace, 0, nil)
			start(t, informer.RunWithContext)
			require.True(t, cache.WaitFor(t.Context(), "", informer.HasSyncedChecker()))
			require.Len(t, informer.GetStore().List(), 1, "a store sees one namespace, or all")
			found++
		}
		require.Equal(t, 2, found)
	})
	glasswatch(t, func(t *testing.T) {
		c := startCluster(t)
		fill(c)
		informer, err := merged.New[*corev1.ConfigMap](nil, merged.Options[*corev1.ConfigMap]{})
		require.NoError(t, err)
		for _, namespace := range namespaces {
			lw, err := listwatch.NewForConfig[*corev1.ConfigMap](c.cfg, corev1.SchemeGroupVersion.WithResource("configmaps"),
				listwatch.Options{Namespace: namespace})
			require.NoError(t, err)
			require.NoError(t, informer.AddSource(merged.Source[*corev1.ConfigMap]{
				Name: namespace, Namespace: namespace, ListerWatcher: lw}))
		}
		startInformer(t, informer)
		require.NoError(t, informer.WaitForSync(context.Background()))
		objs, err := informer.Lister().List(nil)
		require.NoError(t, err)
		require.Len(t, objs, 2)

		// A namespace comes, and one goes.
		require.True(t, informer.RemoveSource("default"))
		apiservertest.Pass(time.Second)
		require.Equal(t, 1, informer.Store().Len())
	})
}
