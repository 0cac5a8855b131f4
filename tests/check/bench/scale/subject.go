package main

import (
	"context"
	"fmt"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"glasswatch/listwatch"
	"glasswatch/listwatch/memo"
	"glasswatch/listwatch/shard"
	"glasswatch/listwatch/wire"
	"glasswatch/sharedinformer"
)

// The variants: informers, and the objects alone, decoded as the informer of that row decodes them.
const (
	glasswatch    = "glasswatch"
	clientGo      = "client-go"
	decoded       = "decoded"
	decodedShared = "decoded-shared"
)

// running is a subject that has synced.
type running struct {
	all   iter.Seq[*corev1.ConfigMap] // what it holds now
	apart uint64                      // bytes of its heap that are not to be counted
}

// subjects start to read, and return once they and their handler have what there was at the start. An informer goes on
// as long as the process.
var subjects = map[string]func(ctx context.Context, m *memberProcess) (*running, error){
	glasswatch: ours,
	clientGo:   theirs,
	decoded:    func(ctx context.Context, m *memberProcess) (*running, error) { return decodeOnly(ctx, m, nil) },
	decodedShared: func(ctx context.Context, m *memberProcess) (*running, error) {
		return decodeOnly(ctx, m, memo.New(memo.Options{}))
	},
}

// ours is an informer as the factory makes it.
func ours(ctx context.Context, m *memberProcess) (*running, error) {
	opts := m.listOptions(memo.New(memo.Options{}))
	lw, err := listwatch.NewForConfig[*corev1.ConfigMap](m.config(), configmaps, opts)
	if err != nil {
		return nil, err
	}
	informer := sharedinformer.New(lw, sharedinformer.Options[*corev1.ConfigMap]{})
	registration, err := informer.AddHandler(sharedinformer.HandlerFuncs[*corev1.ConfigMap]{
		AddFunc: func(obj *corev1.ConfigMap, isInInitialList bool) {
			if !isInInitialList {
				m.handler.written(obj)
			}
		},
		UpdateFunc: func(_, obj *corev1.ConfigMap) { m.handler.written(obj) },
		DeleteFunc: func(sharedinformer.Deletion[*corev1.ConfigMap]) { m.handler.events.Add(1) },
	}, sharedinformer.HandlerOptions{})
	if err != nil {
		return nil, err
	}
	go func() { _ = informer.Run(context.WithoutCancel(ctx)) }() // can only say that it was started before
	if err := registration.WaitForSync(ctx); err != nil {
		return nil, err
	}
	return &running{all: func(yield func(*corev1.ConfigMap) bool) {
		for _, obj := range informer.Store().Snapshot().All() {
			if !yield(obj) {
				return
			}
		}
	}}, nil
}

func (m *memberProcess) listOptions(decoder wire.Decoder) listwatch.Options {
	opts := listwatch.Options{Decoder: decoder, OnForeign: func() { m.handler.foreign.Add(1) }}
	if m.task.Shards > 1 {
		opts.Shard = shard.Selector{Field: shard.UID, Ranges: shard.Merge(shard.Of(m.task.Shard, m.task.Shards))}
	}
	return opts
}

// theirs has no shards: client-go's informer passes a selector on, and takes whatever comes.
func theirs(ctx context.Context, m *memberProcess) (*running, error) {
	if m.task.Shards > 1 {
		return nil, fmt.Errorf("%s has no shards", clientGo)
	}
	client, err := kubernetes.NewForConfig(m.config())
	if err != nil {
		return nil, err
	}
	informer := informers.NewSharedInformerFactory(client, 0).Core().V1().ConfigMaps().Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if !isInInitialList {
				m.handler.written(obj.(*corev1.ConfigMap))
			}
		},
		UpdateFunc: func(_, obj any) { m.handler.written(obj.(*corev1.ConfigMap)) },
		DeleteFunc: func(any) { m.handler.events.Add(1) },
	})
	if err != nil {
		return nil, err
	}
	go informer.RunWithContext(context.WithoutCancel(ctx))
	select {
	case <-registration.HasSyncedChecker().Done():
	case <-ctx.Done():
		return nil, fmt.Errorf("client-go's informer has not synced: %w", context.Cause(ctx))
	}
	return &running{all: func(yield func(*corev1.ConfigMap) bool) {
		for _, obj := range informer.GetStore().List() {
			if !yield(obj.(*corev1.ConfigMap)) {
				return
			}
		}
	}}, nil
}

// decodeOnly decodes a streaming list and keeps the objects: what they take is theirs, and no informer's.
func decodeOnly(ctx context.Context, m *memberProcess, decoder wire.Decoder) (*running, error) {
	client, err := listwatch.NewForConfig[*corev1.ConfigMap](m.config(), configmaps, m.listOptions(decoder))
	if err != nil {
		return nil, err
	}
	yes := true
	stream, err := client.Watch(ctx, metav1.ListOptions{
		AllowWatchBookmarks: true, SendInitialEvents: &yes,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var objects []*corev1.ConfigMap
	for {
		e, err := stream.Next()
		if err != nil {
			return nil, err
		}
		if e.Type == listwatch.Bookmark && e.InitialEventsEnd {
			objects = slices.Clip(append([]*corev1.ConfigMap(nil), objects...))
			return &running{all: slices.Values(objects), apart: 8 * uint64(cap(objects))}, nil
		}
		if e.Type != listwatch.Bookmark {
			objects = append(objects, e.Object)
		}
	}
}
