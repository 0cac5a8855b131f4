package main

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// waitUntilGone returns nil once the object that was deleted is gone. Most are gone at once, so it asks before it
// watches. An object of that name that is not being deleted is another one: somebody has created it since.
func (c *connection) waitUntilGone(ctx context.Context, info *resource.Info) error {
	object, err := c.client(info).Get(ctx, info.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && object.GetDeletionTimestamp() == nil {
		return nil
	}
	if err != nil {
		return err
	}
	// The watch is one long request, which the warnings' writer need not hear from again.
	cfg := rest.CopyConfig(c.config)
	cfg.WarningHandler = rest.NoWarnings{}
	lw, err := listwatch.NewMetadata(cfg, info.Mapping.Resource, listwatch.Options{
		Namespace:     object.GetNamespace(),
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, info.Name).String(),
	})
	if err != nil {
		return err
	}
	return watchUntilGone(ctx, lw, object.GetUID())
}

// watchUntilGone runs an informer until its store no longer has the object with this uid. The deletion may come as an
// event; after a broken watch, as a tombstone; or as an object of another uid in its place.
func watchUntilGone(ctx context.Context, lw listwatch.ListerWatcher[*metav1.PartialObjectMetadata], uid types.UID) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result, once := make(chan error, 1), sync.Once{}
	finish := func(err error) { once.Do(func() { result <- err }) }
	informer := sharedinformer.New(lw, sharedinformer.Options[*metav1.PartialObjectMetadata]{
		WatchErrorHandler: func(ctx context.Context, err error) {
			switch {
			case apierrors.IsNotFound(err): // the kind itself is gone, and its objects with it
				finish(nil)
			case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
				finish(err)
			default: // the informer tries again
				klog.FromContext(ctx).V(2).Info("Waiting goes on after an error", "err", err)
			}
		},
	})
	other := func(m *metav1.PartialObjectMetadata) {
		if m.UID != uid {
			finish(nil)
		}
	}
	handler, err := informer.AddHandler(sharedinformer.HandlerFuncs[*metav1.PartialObjectMetadata]{
		AddFunc:    func(m *metav1.PartialObjectMetadata, _ bool) { other(m) },
		UpdateFunc: func(_, m *metav1.PartialObjectMetadata) { other(m) },
		// A tombstone's Obj is out of date. That it is gone is all that counts, so Obj is not looked at.
		DeleteFunc: func(sharedinformer.Deletion[*metav1.PartialObjectMetadata]) { finish(nil) },
	}, sharedinformer.HandlerOptions{})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- informer.Run(ctx) }()
	defer func() { cancel(); <-ended }() // no goroutine is left behind
	synced := handler.Synced()
	for {
		select {
		case <-synced:
			if informer.Stats().Objects == 0 {
				return nil // it went before the first list, which tells no handler
			}
			synced = nil
		case err := <-result:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
