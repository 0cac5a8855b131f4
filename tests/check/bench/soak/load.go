package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	namespace = "default"
	// writers is the number of concurrent requests.
	writers = 8
	// sentKey is where an object says when it was sent to the server.
	sentKey = "sent"
)

var padding = strings.Repeat("x", 300)

func nameOf(n int) string { return "object-" + strconv.Itoa(n) }

func objectOf(n int) object {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: nameOf(n), Labels: map[string]string{"shard": strconv.Itoa(n % 10)}},
		Data:       map[string]string{"padding": padding, sentKey: strconv.FormatInt(time.Now().UnixNano(), 10)},
	}
}

// fill makes the objects.
func (w *world) fill(ctx context.Context) error {
	errs := make(chan error, writers)
	for writer := range writers {
		go func() {
			for n := writer; n < w.objects; n += writers {
				if _, err := w.client.CoreV1().ConfigMaps(namespace).Create(ctx, objectOf(n), metav1.CreateOptions{}); err != nil {
					errs <- fmt.Errorf("%s: %w", nameOf(n), err)
					return
				}
			}
			errs <- nil
		}()
	}
	var first error
	for range writers {
		if err := <-errs; err != nil {
			first = err
		}
	}
	return first
}

// load starts writers that change objects till ctx ends: of twenty changes eighteen are updates, one is a deletion and one
// brings an object back.
func (w *world) load(ctx context.Context) {
	interval := time.Second * writers / time.Duration(w.rate)
	for writer := range writers {
		w.background.Go(func() {
			random := rand.New(rand.NewPCG(w.seed, uint64(writer)))
			gone := map[int]bool{}
			next := time.Now().Add(interval * time.Duration(writer) / writers)
			for waitUntil(ctx, next) {
				n := random.IntN((w.objects-writer-1)/writers+1)*writers + writer
				w.change(ctx, n, gone, random.IntN(20) == 0)
				// A delay is made up for by at most a second's writes.
				next = next.Add(interval)
				if behind := time.Now().Add(-time.Second); next.Before(behind) {
					next = behind
				}
			}
			w.bringBack(gone)
		})
	}
}

func waitUntil(ctx context.Context, t time.Time) bool {
	if wait := time.Until(t); wait > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return ctx.Err() == nil
}

// change changes one object, and counts refused writes. The next change finds out whether the object exists.
func (w *world) change(ctx context.Context, n int, gone map[int]bool, remove bool) {
	w.gate.RLock()
	defer w.gate.RUnlock()
	client := w.client.CoreV1().ConfigMaps(namespace)
	var err error
	switch {
	case gone[n]:
		_, err = client.Create(ctx, objectOf(n), metav1.CreateOptions{})
	case remove:
		err = client.Delete(ctx, nameOf(n), metav1.DeleteOptions{})
	default:
		_, err = client.Update(ctx, objectOf(n), metav1.UpdateOptions{})
	}
	switch {
	case err == nil:
		gone[n] = !gone[n] && remove
		w.changes.Add(1)
	case apierrors.IsNotFound(err):
		gone[n] = true
	case apierrors.IsAlreadyExists(err):
		gone[n] = false
	case ctx.Err() == nil:
		w.refused.Add(1)
	}
}

// bringBack ends with as many objects as there were at the beginning.
func (w *world) bringBack(gone map[int]bool) {
	for n, is := range gone {
		if is {
			_, _ = w.client.CoreV1().ConfigMaps(namespace).Create(context.Background(), objectOf(n), metav1.CreateOptions{})
		}
	}
}
