package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/compat/internal/undecoded"
	"glasswatch/listwatch"
)

// deaf returns lw for an informer that is to decode answers, of which it gets none: lw has no server.
func deaf(lw ListerWatcher) ListerWatcher {
	return &undecoded.ListerWatcher{
		ListerWatcher: lw, Resource: corev1.SchemeGroupVersion.WithResource("configmaps"), Sharing: undecoded.NewSharing(),
	}
}

// A closure that needs no server, such as a fake's, is heard as if there were no decoder.
func TestUndecoded_WhatClosuresDecodeThemselvesIsTakenAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newVillage(), &diary{}
		s.Put("a")
		informer := NewSharedIndexInformer(deaf(s), &corev1.ConfigMap{}, 0, nil)
		_, err := informer.AddEventHandler(d)
		require.NoError(t, err)
		stop := running(informer.RunWithContext)
		d.Expect(t, "initial a@1")
		s.Put("a")
		s.Put("b")
		s.Delete("a")
		d.Expect(t, "update a@1→2", "add b@3", "delete a@4")
		s.Send(watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired}})
		s.Put("c")
		<-time.After(time.Minute)
		d.Expect(t, "update b@3→3", "add c@5") // after another list
		stop()
	})
}

// The contexts of closures end with what they asked for, and not before.
func TestUndecoded_ContextsEndWithTheirRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists, watches []context.Context
		var w *watch.FakeWatcher
		informer := NewSharedIndexInformer(deaf(&ListWatch{
			ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
				lists = append(lists, ctx)
				return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
			},
			WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				if opts.SendInitialEvents != nil {
					return nil, apierrors.NewBadRequest("no streaming lists")
				}
				watches = append(watches, ctx)
				w = watch.NewFake()
				return w, nil
			},
		}), &corev1.ConfigMap{}, 0, nil)
		stop := running(informer.RunWithContext)
		synctest.Wait()
		require.Len(t, lists, 1)
		require.Error(t, lists[0].Err())
		for n := range 3 {
			require.Len(t, watches, n+1)
			require.NoError(t, watches[n].Err())
			<-time.After(time.Minute)
			synctest.Wait()
			w.Add(configMap("a", fmt.Sprint(n+2)))
			w.Stop()
			<-time.After(time.Minute)
			synctest.Wait()
			require.Error(t, watches[n].Err())
		}
		stop()
		synctest.Wait()
		require.Error(t, watches[3].Err())
		require.True(t, w.IsStopped())
	})
}

// A watch that comes when the informer is stopping has an owner all the same.
func TestUndecoded_WatchesThatComeAtTheEndAreStopped(t *testing.T) {
	for name, waits := range map[string]bool{"just before": false, "just after": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				w := watch.NewFake()
				informer := NewSharedIndexInformer(deaf(&ListWatch{
					ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
						return nil, errors.New("no lists")
					},
					WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
						if waits {
							<-ctx.Done()
						} else {
							cancel()
						}
						return w, nil
					},
				}), &corev1.ConfigMap{}, 0, nil)
				time.AfterFunc(time.Second, cancel)
				informer.RunWithContext(ctx)
				synctest.Wait()
				require.True(t, w.IsStopped())
			})
		})
	}
}

func TestUndecoded_ClosuresThatReturnNothingOrFailAreErrors(t *testing.T) {
	for _, c := range []struct {
		list      runtime.Object
		err, want error
	}{
		{nil, nil, errNoList},
		{nil, apierrors.NewForbidden(corev1.Resource("configmaps"), "", nil), apierrors.NewForbidden(corev1.Resource("configmaps"), "", nil)},
	} {
		lw, own := decodesAnswers(deaf(&ListWatch{
			ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return c.list, c.err },
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, c.err },
		}))
		b := newBridge(lw, &corev1.ConfigMap{}, "")
		require.True(t, b.decodeAnswers(own))
		_, err := b.List(t.Context(), metav1.ListOptions{})
		require.Equal(t, &requestError{listRequest, c.want}, err)
		_, err = b.Watch(t.Context(), metav1.ListOptions{})
		require.Equal(t, watchRequest, err.(*requestError).kind)
		_, err = b.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: new(true)})
		require.Equal(t, streamRequest, err.(*requestError).kind)
	}
}

func TestUndecoded_StreamsEndAsThoseOfClientGo(t *testing.T) {
	clean := []error{
		io.EOF, fmt.Errorf("half a frame: %w", io.ErrUnexpectedEOF), fmt.Errorf("slow: %w", context.DeadlineExceeded),
		fmt.Errorf("read: %w", syscall.ECONNRESET),
	}
	for _, err := range clean {
		require.Equal(t, io.EOF, endOf(err), "%v", err)
	}
	other := []error{
		nil, listwatch.ErrClosed, context.Canceled, errors.New("stream error: stream ID 1; REFUSED_STREAM"), listwatch.ErrFrameTooLarge,
		apierrors.NewResourceExpired("old"), &listwatch.ObjectError{Err: io.ErrUnexpectedEOF},
	}
	for _, err := range other {
		require.Equal(t, err, endOf(err), "%v", err)
	}
}
