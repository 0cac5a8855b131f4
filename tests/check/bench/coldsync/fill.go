package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// writers is the number of concurrent requests.
const writers = 16

// configFor returns a new configuration for protobuf, without a rate limit.
func configFor(kubeconfig string) (*rest.Config, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.QPS = -1
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return cfg, nil
}

// fill makes the server have n pods of this benchmark, each by three requests of three writers, and returns them. Pods
// of an earlier run are used as they are.
func fill(ctx context.Context, client kubernetes.Interface, n int) ([]*corev1.Pod, error) {
	pods, err := list(ctx, client)
	if err != nil {
		return nil, err
	}
	if len(pods) > n {
		return nil, fmt.Errorf("the server has %d pods already, more than %d", len(pods), n)
	}
	have := map[string]bool{}
	for _, pod := range pods {
		have[pod.Name] = true
	}
	owners, err := makeOwners(ctx, client)
	if err != nil {
		return nil, err
	}
	p := startProgress("pods", n)
	defer p.end()
	err = inParallel(ctx, n, func(ctx context.Context, i int) error {
		defer p.step()
		if have[nameOf(i)] {
			return nil
		}
		if err := write(ctx, client, i, owners[i%templates]); err != nil {
			return fmt.Errorf("pod %d, %s/%s: %w", i, namespaceOf(i), nameOf(i), err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if pods, err = list(ctx, client); err == nil && len(pods) != n {
		err = fmt.Errorf("the server has %d pods, not %d", len(pods), n)
	}
	return pods, err
}

// makeOwners makes the namespaces and the ReplicaSets, unless they are there, and returns the UIDs of these.
func makeOwners(ctx context.Context, client kubernetes.Interface) (owners [templates]types.UID, err error) {
	for i := range namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(i)}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return owners, err
		}
	}
	for i := range owners {
		sets := client.AppsV1().ReplicaSets(namespaceOf(i))
		set, err := sets.Create(ctx, replicaSetAt(i), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			set, err = sets.Get(ctx, templateOf(i), metav1.GetOptions{})
		}
		if err != nil {
			return owners, err
		}
		owners[i] = set.UID
	}
	return owners, nil
}

// write leaves the i-th pod as its three writers do.
func write(ctx context.Context, client kubernetes.Interface, i int, owner types.UID) error {
	pod := podAt(i, owner)
	pods := client.CoreV1().Pods(pod.Namespace)
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{FieldManager: replicaSetManager}); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	pod.Status = statusAt(i)
	if _, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: kubeletManager}); err != nil {
		return fmt.Errorf("status: %w", err)
	}
	if _, err := pods.Apply(ctx, applyAt(i), metav1.ApplyOptions{FieldManager: applyManager}); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return nil
}

// list returns the pods of the benchmark.
func list(ctx context.Context, client kubernetes.Interface) ([]*corev1.Pod, error) {
	var pods []*corev1.Pod
	opts := metav1.ListOptions{LabelSelector: mark, Limit: 1000}
	for {
		page, err := client.CoreV1().Pods("").List(ctx, opts)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			pods = append(pods, page.Items[i].DeepCopy()) // frees the page
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			return pods, nil
		}
	}
}

// inParallel calls do with each number below n until one fails.
func inParallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range writers {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
