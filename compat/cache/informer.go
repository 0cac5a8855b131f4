package cache

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/features"
	"k8s.io/klog/v2"
)

// NewInformerWithOptions returns a store, and a controller that fills it and calls one handler. The store is read-only.
// It is an Indexer if options has indexers. An object that the transform fails on is reported and left out; if there is an
// earlier version of it, that stays.
func NewInformerWithOptions(options InformerOptions) (Store, Controller) {
	metrics := WithStoreMetrics(options.Identifier, options.InformerMetricsProvider)
	var store Store
	if options.Indexers == nil {
		store = NewStore(DeletionHandlingMetaNamespaceKeyFunc, metrics)
	} else {
		store = NewIndexer(DeletionHandlingMetaNamespaceKeyFunc, options.Indexers, metrics)
	}
	return store, newInformer(store, options)
}

// NewInformer is NewInformerWithOptions with the options it has parameters for.
//
// Deprecated: client-go deprecates it for NewInformerWithOptions.
func NewInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler) (Store, Controller) {
	return NewTransformingInformer(lw, objType, resyncPeriod, h, nil)
}

// NewIndexerInformer is NewInformerWithOptions with the options it has parameters for.
//
// Deprecated: client-go deprecates it for NewInformerWithOptions.
func NewIndexerInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, indexers Indexers) (Indexer, Controller) {
	return NewTransformingIndexerInformer(lw, objType, resyncPeriod, h, indexers, nil)
}

// NewTransformingInformer is NewInformerWithOptions with the options it has parameters for.
//
// Deprecated: client-go deprecates it for NewInformerWithOptions.
func NewTransformingInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, transformer TransformFunc) (Store, Controller) {
	return NewInformerWithOptions(InformerOptions{
		ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resyncPeriod, Handler: h, Transform: transformer,
	})
}

// NewTransformingIndexerInformer is NewInformerWithOptions with the options it has parameters for.
//
// Deprecated: client-go deprecates it for NewInformerWithOptions.
func NewTransformingIndexerInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, indexers Indexers, transformer TransformFunc) (Indexer, Controller) {
	store := NewIndexer(DeletionHandlingMetaNamespaceKeyFunc, indexers)
	return store, newInformer(store, InformerOptions{
		ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resyncPeriod, Handler: h, Indexers: indexers, Transform: transformer,
	})
}

func newInformer(store Store, options InformerOptions) Controller {
	apply := applier{store: store, handler: options.Handler}
	return New(&Config{
		Queue:            newQueue(store, options),
		ListerWatcher:    options.ListerWatcher,
		ObjectType:       options.ObjectType,
		FullResyncPeriod: options.ResyncPeriod,
		MinWatchTimeout:  options.MinWatchTimeout,
		Process:          apply.process,
		ProcessBatch:     apply.processBatch,
	})
}

// newQueue returns the queue that client-go's gates ask for.
func newQueue(store Store, options InformerOptions) Queue {
	logger := klog.Background()
	if options.Logger != nil {
		logger = *options.Logger
	}
	gates := features.FeatureGates()
	if !gates.Enabled(features.InOrderInformers) {
		return NewDeltaFIFOWithOptions(DeltaFIFOOptions{
			Logger: &logger, Name: fmt.Sprintf("DeltaFIFO %T", options.ObjectType),
			KnownObjects: store, EmitDeltaTypeReplaced: true, Transformer: options.Transform,
		})
	}
	queue := RealFIFOOptions{
		Logger: &logger, Name: fmt.Sprintf("RealFIFO %T", options.ObjectType),
		KeyFunction: MetaNamespaceKeyFunc, Transformer: options.Transform,
		Identifier: options.Identifier, MetricsProvider: options.InformerMetricsProvider,
	}
	if gates.Enabled(features.AtomicFIFO) {
		queue.AtomicEvents, queue.EmitDeltaTypeBookmark = true, true
		queue.UnlockWhileProcessing = gates.Enabled(features.UnlockWhileProcessingFIFO)
	} else {
		queue.KnownObjects = store
	}
	return newRealFIFO(queue, true) // applier knows what is kept
}
