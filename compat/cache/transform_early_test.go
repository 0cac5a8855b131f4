package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/listwatch"
)

func initialEventsEnd(version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: version, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
}

// streaming returns a ListerWatcher with streaming lists only, and its watches.
func streaming() (ListerWatcher, chan *watch.FakeWatcher) {
	watches := make(chan *watch.FakeWatcher, 1)
	return &ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return nil, errors.New("no lists")
		},
		WatchFuncWithContext: func(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			if opts.SendInitialEvents == nil {
				return nil, errors.New("streaming lists only")
			}
			w := watch.NewFake()
			watches <- w
			return w, nil
		},
	}, watches
}

// Each event is transformed once, also if that fails or panics. A list that breaks off is streamed again.
func TestSharedInformer_InitialEventsAreTransformedAsTheyCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw, watches := streaming()
		informer := NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, nil)
		calls := map[string]int{}
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			c := obj.(*corev1.ConfigMap)
			calls[fmt.Sprint(c.Name, "@", c.ResourceVersion)]++
			switch c.Name {
			case "bad":
				return nil, errors.New("bad")
			case "worse":
				panic("worse")
			case "copy":
				c = c.DeepCopy()
			}
			c.Data = map[string]string{"seen": "yes"}
			return c, nil
		}))
		d := &diary{}
		_, err := informer.AddEventHandler(d)
		require.NoError(t, err)
		defer running(informer.RunWithContext)()

		w := <-watches
		w.Add(configMap("a", "1"))
		synctest.Wait()
		require.Equal(t, map[string]int{"a@1": 1}, calls, "before the list has ended")
		w.Stop()
		w = <-watches
		for i, name := range []string{"a", "bad", "worse", "copy"} {
			w.Add(configMap(name, fmt.Sprint(i+1)))
		}
		w.Modify(configMap("a", "5"))
		w.Action(watch.Bookmark, initialEventsEnd("5"))
		d.Expect(t, "initial a@5", "initial copy@4")
		w.Modify(configMap("copy", "6"))
		w.Delete(configMap("a", "7"))
		d.Expect(t, "update copy@4→6", "delete a@7")
		require.Equal(t, map[string]int{
			"a@1": 2, "bad@2": 1, "worse@3": 1, "copy@4": 1, "a@5": 1, "copy@6": 1, "a@7": 1,
		}, calls)
		obj, _, err := informer.GetStore().GetByKey("default/copy")
		require.NoError(t, err)
		require.Equal(t, "yes", obj.(*corev1.ConfigMap).Data["seen"])
	})
}

// Whatever a transform makes of an initial event, the store has it under the key that the server gave.
func TestSharedInformer_TransformsOfInitialEventsLeaveTheKey(t *testing.T) {
	stub := &corev1.ConfigMap{}
	for name, transform := range map[string]func(c *corev1.ConfigMap) (any, error){
		"another name": func(c *corev1.ConfigMap) (any, error) {
			c = c.DeepCopy()
			c.Name = "my-" + c.Name
			return c, nil
		},
		"another namespace, in place": func(c *corev1.ConfigMap) (any, error) {
			c.Namespace = "elsewhere"
			return c, nil
		},
		"one object for all": func(*corev1.ConfigMap) (any, error) { return stub, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lw, watches := streaming()
				informer := NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, nil)
				require.NoError(t, informer.SetTransform(func(obj any) (any, error) { return transform(obj.(*corev1.ConfigMap)) }))
				defer running(informer.RunWithContext)()
				keys := func() []string {
					synctest.Wait()
					return informer.GetStore().ListKeys()
				}
				w := <-watches
				for _, name := range []string{"a", "b", "c"} {
					w.Add(configMap(name, "1"))
				}
				w.Action(watch.Bookmark, initialEventsEnd("1"))
				require.ElementsMatch(t, []string{"default/a", "default/b", "default/c"}, keys())
				w.Modify(configMap("a", "2"))
				require.ElementsMatch(t, []string{"default/a", "default/b", "default/c"}, keys())
				for _, name := range []string{"a", "b", "c"} {
					w.Delete(configMap(name, "3"))
				}
				require.Empty(t, keys())
			})
		})
	}
}

func TestSharedInformer_ATransformOfInitialEventsMayReturnANilPointer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw, watches := streaming()
		informer := NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, nil)
		require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
			if obj.(*corev1.ConfigMap).Name == "a" {
				return (*corev1.ConfigMap)(nil), nil
			}
			return obj, nil
		}))
		defer running(informer.RunWithContext)()
		w := <-watches
		w.Add(configMap("a", "1"))
		w.Add(configMap("b", "1"))
		w.Action(watch.Bookmark, initialEventsEnd("1"))
		synctest.Wait()
		require.Equal(t, []string{"default/b"}, informer.GetStore().ListKeys())
	})
}

// What is remembered of an object ends with the queue's call for it, or with the next request.
func TestEarlyTransform_RemembersNothingLonger(t *testing.T) {
	early := &earlyTransform{wanted: func() bool { return true }, transform: func(obj object) (object, error) { return obj, nil }}
	for _, name := range []string{"a", "b"} {
		early.event(&listwatch.Event[object]{Type: listwatch.Added, Object: configMap(name, "1")})
	}
	require.Len(t, early.done, 2)
	for obj := range early.done {
		_, err := early.object(obj)
		require.NoError(t, err)
	}
	require.Nil(t, early.done)
	early.event(&listwatch.Event[object]{Type: listwatch.Added, Object: configMap("c", "1")})
	lw, _ := streaming()
	b := newBridge(lw, &corev1.ConfigMap{}, "")
	b.early = early
	_, err := b.List(t.Context(), metav1.ListOptions{})
	require.Error(t, err)
	require.Nil(t, early.done, "after a list that was streamed in vain")

	stream := earlyStream{Stream: listwatch.FromWatch[object](watch.NewEmptyWatch()), early: early, over: true}
	early.event(&listwatch.Event[object]{Type: listwatch.Added, Object: configMap("c", "1")})
	_, err = stream.Next()
	require.Equal(t, io.EOF, err)
	require.Nil(t, early.done, "of an object that came again before the end of its list")

	early.wanted = func() bool { return false }
	early.event(&listwatch.Event[object]{Type: listwatch.Added, Object: configMap("c", "1")})
	require.Nil(t, early.done)
}
