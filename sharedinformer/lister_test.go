package sharedinformer

import (
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/indexer"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer/lister"
)

func names(objs []*config) []string {
	var out []string
	for _, obj := range objs {
		out = append(out, obj.Namespace+"/"+obj.Name)
	}
	return out
}

func TestLister_ListsByLabelsAndNamespace(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		red := map[string]string{"colour": "red"}
		s.server.PutLabelled(key{Namespace: "one", Name: "a"}, red)
		s.server.PutLabelled(key{Namespace: "one", Name: "b"}, nil)
		s.server.PutLabelled(key{Namespace: "two", Name: "a"}, red)
		s.server.PutLabelled(key{Name: "cluster"}, nil)
		s.Start()
		all := s.informer.Lister()
		reds := labels.SelectorFromSet(red)
		for _, c := range []struct {
			list func(labels.Selector) ([]*config, error)
			by   labels.Selector
			want []string
		}{
			{all.List, nil, []string{"/cluster", "one/a", "one/b", "two/a"}},
			{all.List, labels.Everything(), []string{"/cluster", "one/a", "one/b", "two/a"}},
			{all.List, labels.Nothing(), nil},
			{all.List, reds, []string{"one/a", "two/a"}},
			{all.Namespace("one").List, nil, []string{"one/a", "one/b"}},
			{all.Namespace("one").List, reds, []string{"one/a"}},
			{all.Namespace("none").List, nil, nil},
			{all.Namespace("").List, reds, []string{"one/a", "two/a"}},
		} {
			got, err := c.list(c.by)
			require.NoError(s, err)
			require.ElementsMatch(s, c.want, names(got))
		}
		obj, err := all.Namespace("two").Get("a")
		require.NoError(s, err)
		require.Equal(s, "two", obj.Namespace)
		obj, err = all.Get("cluster")
		require.NoError(s, err)
		require.Equal(s, "cluster", obj.Name)

		_, err = all.Namespace("two").Get("b")
		require.True(s, apierrors.IsNotFound(err))
		require.EqualError(s, err, `configmaps "b" not found`)
	})
}

func TestLister_WorksWithoutTheNamespaceIndex(t *testing.T) {
	store := indexer.New(indexer.Options[key, *config]{KeyFunc: func(c *config) (key, error) {
		return key{Namespace: c.Namespace, Name: c.Name}, nil
	}})
	for _, ns := range []string{"one", "two"} {
		obj := &config{}
		obj.Namespace, obj.Name = ns, "a"
		require.NoError(t, store.Add(obj))
	}
	got, err := lister.New(store, schema.GroupResource{}).Namespace("two").List(nil)
	require.NoError(t, err)
	require.Equal(t, []string{"two/a"}, names(got))
}

func TestLister_MistakenIndexDoesNotMixNamespaces(t *testing.T) {
	opts := Options[*config]{Indexers: indexer.Indexers[*config]{NamespaceIndex: func(_ *config, dst []string) ([]string, error) {
		return append(dst, "one"), nil // a caller's own idea of the index
	}}}
	inVirtualTime(t, opts, func(s *story) {
		s.server.PutLabelled(key{Namespace: "two", Name: "a"}, nil)
		s.Start()
		got, err := s.informer.Lister().Namespace("one").List(nil)
		require.NoError(s, err)
		require.Empty(s, got)
	})
}

func TestLister_NotFoundNamesTheResource(t *testing.T) {
	_, err := New(listwatch.Funcs[*networkingv1.Ingress]{}, Options[*networkingv1.Ingress]{}).Lister().Get("x")
	require.EqualError(t, err, `ingresses "x" not found`)
	informer := New[*config](newServer(), Options[*config]{Resource: schema.GroupResource{Group: "example.com", Resource: "things"}})
	_, err = informer.Lister().Get("x")
	require.EqualError(t, err, `things.example.com "x" not found`)
}
