package cache

//lint:file-ignore SA1019 Programs whose functions take no context are served, too.

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

func unstructuredOf(apiVersion, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "default", "name": name, "resourceVersion": "2"},
	}}
	if apiVersion != "" {
		u.SetAPIVersion(apiVersion)
	}
	if kind != "" {
		u.SetKind(kind)
	}
	return u
}

// A list's items often have neither kind nor version: a fake's, or those that a function has made.
func TestListItems_OfUnstructuredListsAreTakenWhateverTheirKind(t *testing.T) {
	items := []unstructured.Unstructured{
		*unstructuredOf("v1", "ConfigMap", "complete"), *unstructuredOf("", "", "neither"), *unstructuredOf("", "ConfigMap", "no-version"),
		*unstructuredOf("v1", "", "no-kind"), *unstructuredOf("v1beta1", "ConfigMap", "older"), *unstructuredOf("v1", "Secret", "other"),
	}
	lw := func() (ListerWatcher, *watch.RaceFreeFakeWatcher) {
		w := watch.NewRaceFreeFake()
		return paged(&ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
				list := &unstructured.UnstructuredList{Items: items, Object: map[string]any{}}
				list.SetResourceVersion("1")
				return list, nil
			},
			WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return w, nil },
		}), w
	}
	table := stories{}
	for what, example := range map[string]*unstructured.Unstructured{
		"kind": unstructuredOf("v1", "ConfigMap", ""), "no kind": {},
	} {
		table[what+"/shared"] = func(t *testing.T, c *transcript) {
			lw, w := lw()
			informer := c.shared(lw, example, plain())
			_, _ = informer.AddEventHandler(&c.events)
			defer running(informer.RunWithContext)()
			w.Add(unstructuredOf("v1", "Secret", "event"))
			w.Add(unstructuredOf("", "", "event-without"))
			pass(time.Second)
			c.state(informer)
		}
		table[what+"/reflector"] = func(t *testing.T, c *transcript) {
			lw, w := lw()
			store := NewStore(MetaNamespaceKeyFunc)
			defer running(c.reflector(lw, example, store, ReflectorOptions{}).RunWithContext)()
			w.Add(unstructuredOf("v1", "Secret", "event"))
			pass(time.Second)
			c.write("%v", sorted(store.ListKeys()))
		}
	}
	table.compare(t)
}

// pages answers lists with pages, the first one to whoever has no token.
func pages(answers ...func() (runtime.Object, error)) *ListWatch {
	next := 0
	return &ListWatch{
		ListFunc: func(opts metav1.ListOptions) (runtime.Object, error) {
			if opts.Continue == "" {
				next = 0
			}
			next++
			return answers[min(next, len(answers))-1]()
		},
		WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return watch.NewRaceFreeFake(), nil },
	}
}

// pageWith has one object, or none, and a continue token.
func pageWith(name, token string) func() (runtime.Object, error) {
	return func() (runtime.Object, error) {
		list := configMapList("7")
		if name != "" {
			list = configMapList("7", configMap(name, "1"))
		}
		list.Continue = token
		return list, nil
	}
}

func failedPage() (runtime.Object, error) { return nil, errors.New("no page") }

func TestListItems_PagesAreFollowedAsByClientGo(t *testing.T) {
	table := stories{}
	for what, answers := range map[string][]func() (runtime.Object, error){
		"a token twice":         {pageWith("a", "t"), pageWith("b", "t"), pageWith("c", "")},
		"a token three times":   {pageWith("a", "t"), pageWith("b", "t"), pageWith("c", "t"), pageWith("d", "")},
		"two tokens in turns":   {pageWith("a", "t"), pageWith("b", "u"), pageWith("c", "t"), pageWith("d", "u"), pageWith("e", "")},
		"a token, then none":    {pageWith("a", "t"), pageWith("b", "t"), pageWith("", "")},
		"an empty page":         {pageWith("a", "t"), pageWith("", "u"), pageWith("c", "")},
		"the second page fails": {pageWith("a", "t"), failedPage},
		"each page fails":       {failedPage},
	} {
		table[what] = func(t *testing.T, c *transcript) {
			informer := c.informer(t, paged(c.noted(pages(answers...))))
			defer running(informer.RunWithContext)()
			c.state(informer)
		}
	}
	table.compare(t)
}

// client-go goes on for ever.
func TestListItems_AnEmptyPageWithTheSameTokenFailsTheList(t *testing.T) {
	transcriptOf(t, ourMachinery, ourStorage, func(t *testing.T, c *transcript) {
		informer := c.informer(t, paged(pages(pageWith("a", "t"), pageWith("", "t"))))
		defer running(informer.RunWithContext)()
		c.Expect(t, `error: failed to list *v1.ConfigMap: the list function gave an empty page and the continue token "t" a second time`)
		c.state(informer)
		c.Expect(t, `synced false, stopped false, version "", store's "", keys []`)
	})
}
