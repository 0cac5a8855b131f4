package sharedinformer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/deltafifo"
	"glasswatch/listwatch"
	"glasswatch/reflector"
)

func configMap(name, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: version}}
}

// fromEmpty lists nothing and watches source.
func fromEmpty(source watch.Interface) listwatch.ListerWatcher[*corev1.ConfigMap] {
	return listwatch.Funcs[*corev1.ConfigMap]{
		ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
		},
		WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return source, nil },
	}
}

func TestBatchSink_QueuesWhatComesAndSaysWhatItRefused(t *testing.T) {
	unnamed := errors.New("no name")
	queue := deltafifo.NewInOrder(deltafifo.Options[key, *corev1.ConfigMap]{
		KeyFunc: func(obj *corev1.ConfigMap) (key, error) {
			if obj.Name == "" {
				return key{}, unnamed
			}
			return listwatch.KeyOf(obj), nil
		},
	})
	sink := &batchSink[*corev1.ConfigMap]{InOrder: queue}
	for range 2 { // with fresh scratch, and with used
		errs := sink.PutBatch([]listwatch.Event[*corev1.ConfigMap]{
			{Type: listwatch.Added, Object: configMap("a", "1")},
			{Type: listwatch.Modified, Object: configMap("", "2")},
			{Type: listwatch.Modified, Object: configMap("b", "3")},
			{Type: listwatch.Deleted, Object: configMap("c", "4")},
		})
		require.Len(t, errs, 4)
		for i, err := range errs {
			require.Equal(t, i == 1, errors.Is(err, unnamed), "%v", err)
		}
		var got []string
		require.NoError(t, queue.PopBatch(func(ds []deltafifo.Delta[key, *corev1.ConfigMap], _ bool) error {
			for _, d := range ds {
				got = append(got, fmt.Sprintf("%v %v %v", d.Type, d.Key, d.Obj.ResourceVersion))
			}
			return nil
		}))
		require.Equal(t, []string{"Added ns/a 1", "Updated ns/b 3", "Deleted ns/c 4"}, got)
	}
	for _, left := range sink.deltas[:4] {
		require.Zero(t, left, "what was queued must not be kept")
	}
	require.Nil(t, sink.PutBatch([]listwatch.Event[*corev1.ConfigMap]{{Type: listwatch.Added, Object: configMap("a", "5")}}))
}

// TestInformer_TellsOfEachEventOfABatch: an object that changes again and again within one batch is one transaction of the
// store, and as many calls of the handler.
func TestInformer_TellsOfEachEventOfABatch(t *testing.T) {
	for _, kind := range []QueueKind{InOrder, PerKey} {
		synctest.Test(t, func(t *testing.T) {
			source := watch.NewFakeWithChanSize(16, false)
			for version, do := range []func(runtime.Object){
				source.Add, source.Modify, source.Modify, source.Delete, source.Add, source.Modify,
			} {
				do(configMap("a", fmt.Sprint(version+2)))
			}
			i := New(fromEmpty(source), Options[*corev1.ConfigMap]{Queue: kind, Reflector: reflector.Options{DisableStreamingList: true}})
			var told []string
			_, err := i.AddHandler(HandlerFuncs[*corev1.ConfigMap]{
				AddFunc: func(obj *corev1.ConfigMap, _ bool) { told = append(told, "+"+obj.ResourceVersion) },
				UpdateFunc: func(old, obj *corev1.ConfigMap) {
					told = append(told, old.ResourceVersion+"-"+obj.ResourceVersion)
				},
				DeleteFunc: func(d Deletion[*corev1.ConfigMap]) { told = append(told, "x"+d.Obj.ResourceVersion) },
			}, HandlerOptions{})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			require.NoError(t, i.Run(ctx))
			require.Equal(t, []string{"+2", "2-3", "3-4", "x5", "+6", "6-7"}, told, "%v", kind)
			obj, ok := i.Store().GetByKey(key{Namespace: "ns", Name: "a"})
			require.True(t, ok)
			require.Equal(t, "7", obj.ResourceVersion)
			require.Equal(t, "7", i.LastSyncResourceVersion())
		})
	}
}
