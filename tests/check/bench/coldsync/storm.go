package main

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
)

// weather is a storm's strength.
type weather struct {
	lasts time.Duration
	rate  int // updates per second; 0: as many as the server takes
}

// blow updates pods, one after the other, as the kubelet does, and returns how many updates it made. Each says in an
// annotation when it was sent.
func blow(ctx context.Context, client kubernetes.Interface, pods []*corev1.Pod, w weather) (updates int, err error) {
	var done, tickets atomic.Int64
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for own := range shares(pods, writers) {
		group.Go(func() error {
			for i := 0; ; i = (i + 1) % len(own) {
				if !w.turn(ctx, began, tickets.Add(1)-1) {
					return ctx.Err()
				}
				if err := touch(ctx, client, own[i]); err != nil {
					return err
				}
				done.Add(1)
			}
		})
	}
	err = group.Wait()
	return int(done.Load()), err
}

// shares cuts pods into at most n parts, so that no two writers have the same pod.
func shares(pods []*corev1.Pod, n int) iter.Seq[[]*corev1.Pod] {
	return func(yield func([]*corev1.Pod) bool) {
		n = min(n, len(pods))
		for i := range n {
			if !yield(pods[len(pods)*i/n : len(pods)*(i+1)/n]) {
				return
			}
		}
	}
}

// turn waits until the ticket's time, and returns false if that is after the storm. The first two are good however late a busy machine is, so
// that a storm has a rate.
func (w weather) turn(ctx context.Context, began time.Time, ticket int64) bool {
	due := began
	if w.rate > 0 {
		due = began.Add(time.Duration(ticket) * time.Second / time.Duration(w.rate))
	}
	if over := began.Add(w.lasts); ticket > 1 && (due.After(over) || time.Now().After(over)) {
		return false
	}
	select {
	case <-time.After(time.Until(due)):
		return true
	case <-ctx.Done():
		return false
	}
}

// touch sends an update whatever version the pod has by now. The answer is not decoded.
func touch(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) error {
	pod.ResourceVersion = ""
	pod.Annotations[sentAt] = formatSentAt(time.Now())
	err := client.CoreV1().RESTClient().Put().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("status").
		VersionedParams(&metav1.UpdateOptions{FieldManager: kubeletManager}, scheme.ParameterCodec).Body(pod).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("update of %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}
