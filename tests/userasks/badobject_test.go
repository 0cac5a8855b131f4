package userasks

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"glasswatch/indexer"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
)

var errBad = errors.New("bad object")

// check is a transform that fails on one kind of object.
func check(obj *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	if obj.Data["v"] == "bad" {
		return nil, errBad
	}
	return obj, nil
}

func untypedCheck(obj any) (any, error) { return check(obj.(*corev1.ConfigMap)) }

// tellAll writes down what a client-go informer tells.
func tellAll(t *testing.T, informer cache.SharedInformer, told *notes) {
	name := func(obj any) string { return obj.(*corev1.ConfigMap).Name }
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { told.add("add %s", name(obj)) },
		UpdateFunc: func(_, obj any) { told.add("update %s", name(obj)) },
		DeleteFunc: func(obj any) {
			key, _ := cache.DeletionHandlingObjectToName(obj)
			told.add("delete %s", key.Name)
		},
	})
	require.NoError(t, err)
}

// telling writes down what our informer tells.
func telling(told *notes) handler {
	return handler{
		AddFunc:    func(obj *corev1.ConfigMap, _ bool) { told.add("add %s", obj.Name) },
		UpdateFunc: func(_, obj *corev1.ConfigMap) { told.add("update %s", obj.Name) },
		DeleteFunc: func(d deletion) { told.add("delete %s", d.Key.Name) },
	}
}

// One object of three cannot be transformed. The list comes in pages, as from a server without streaming lists.
func TestAFailingTransformDoesNotBlockTheSync(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		c := startCluster(t)
		c.Faults().RefuseStreamingLists(true)
		c.Put("a", "1")
		c.Put("b", "bad")
		c.Put("c", "1")
		informer := c.clientGoInformer(nil)
		require.NoError(t, informer.SetTransform(untypedCheck))
		start(t, informer.RunWithContext)
		apiservertest.Pass(10 * time.Minute)
		// The queue refuses the list, and the reflector asks for it again, for ever.
		require.False(t, informer.HasSynced())
		require.Empty(t, informer.GetStore().List())
		require.Greater(t, len(c.Asked()), 10)
	})
	glasswatch(t, func(t *testing.T) {
		c, reported := startCluster(t), notes{}
		c.Faults().RefuseStreamingLists(true)
		c.Put("a", "1")
		c.Put("b", "bad")
		c.Put("c", "1")
		informer := c.informer(options{Transform: check, OnObjectError: func(key listwatch.Key, err error) {
			reported.add("%s: %v", key, errors.Is(err, errBad))
		}})
		startInformer(t, informer)
		require.NoError(t, informer.WaitForSync(t.Context()))
		require.Equal(t, 2, informer.Stats().Objects)
		require.Equal(t, []string{"default/b: true"}, reported.read())
		require.EqualValues(t, 1, informer.Stats().ObjectErrors)

		c.Put("b", "good") // heals with its next version
		apiservertest.Pass(time.Second)
		require.Equal(t, 3, informer.Stats().Objects)
	})
}

// A known object changes into one that cannot be transformed, and a streaming list brings it.
func TestAFailingTransformDoesNotLookLikeADeletion(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		c, told := startCluster(t), notes{}
		c.Put("a", "1")
		c.Put("b", "1")
		informer := c.clientGoInformer(nil)
		require.NoError(t, informer.SetTransform(untypedCheck))
		tellAll(t, informer, &told)
		start(t, informer.RunWithContext)
		require.ElementsMatch(t, []string{"add a", "add b"}, told.read())
		c.Miss(func() { c.Put("b", "bad") })
		// A streaming list is gathered in a store that drops objects which it cannot transform. An object that the list
		// lacks counts as deleted.
		require.Equal(t, []string{"delete b", "update a"}, told.read())
		require.Len(t, informer.GetStore().List(), 1)
	})
	glasswatch(t, func(t *testing.T) {
		c, told := startCluster(t), notes{}
		c.Put("a", "1")
		c.Put("b", "1")
		informer := c.informer(options{Transform: check, OnObjectError: func(listwatch.Key, error) {}})
		_, err := informer.AddHandler(telling(&told), handlerOptions{})
		require.NoError(t, err)
		startInformer(t, informer)
		require.ElementsMatch(t, []string{"add a", "add b"}, told.read())
		c.Miss(func() { c.Put("b", "bad") })
		require.Equal(t, []string{"update a"}, told.read(), "a list tells of what has not changed, too; on both sides")
		b, err := informer.Lister().Namespace("default").Get("b")
		require.NoError(t, err)
		require.Equal(t, "1", b.Data["v"], "the last good version stays")

		c.Delete("b")
		require.Equal(t, []string{"delete b"}, told.read(), "its deletion is delivered")
	})
}

// One object of three cannot be indexed.
func TestAFailingIndexFunctionCostsAnIndexEntryAndNothingElse(t *testing.T) {
	clientGo(t, func(t *testing.T) {
		c, crashed, told := startCluster(t), crashes(t), notes{}
		c.Put("a", "1")
		c.Put("b", "bad")
		c.Put("c", "1")
		informer := c.clientGoInformer(cache.Indexers{"v": func(obj any) ([]string, error) {
			_, err := untypedCheck(obj)
			return []string{obj.(*corev1.ConfigMap).Data["v"]}, err
		}})
		tellAll(t, informer, &told)
		start(t, informer.RunWithContext)
		apiservertest.Pass(time.Minute)
		// The process would end here, but this script lets it live. After that the handlers never get the first list,
		// although the informer has synced. The index may have any part of the list.
		require.Contains(t, crashed()[0], `unable to calculate an index entry for key "default/b"`)
		require.Empty(t, told.read())
		require.True(t, informer.HasSynced())
	})
	glasswatch(t, func(t *testing.T) {
		c, crashed, told, reported := startCluster(t), crashes(t), notes{}, notes{}
		c.Put("a", "1")
		c.Put("b", "bad")
		c.Put("c", "1")
		informer := c.informer(options{
			Indexers: indexer.Indexers[*corev1.ConfigMap]{"v": func(obj *corev1.ConfigMap, dst []string) ([]string, error) {
				_, err := check(obj)
				return append(dst, obj.Data["v"]), err
			}},
			OnObjectError: func(key listwatch.Key, err error) { reported.add("%s: %v", key, errors.Is(err, errBad)) },
		})
		_, err := informer.AddHandler(telling(&told), handlerOptions{})
		require.NoError(t, err)
		startInformer(t, informer)
		require.NoError(t, informer.WaitForSync(context.Background()))
		require.ElementsMatch(t, []string{"add a", "add b", "add c"}, told.read())
		require.Equal(t, []string{"default/b: true"}, reported.read())
		require.Empty(t, crashed())
		good, err := informer.Store().ByIndex("v", "1")
		require.NoError(t, err)
		require.Len(t, good, 2)
		bad, err := informer.Store().ByIndex("v", "bad")
		require.NoError(t, err)
		require.Empty(t, bad)
	})
}
