package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/tests/check/controlplane"
)

// writers is the number of concurrent requests.
const writers = 16

// The field managers of the objects, which stand in metadata.managedFields.
var (
	byManager = metav1.CreateOptions{FieldManager: "kube-controller-manager"}
	byKubelet = metav1.UpdateOptions{FieldManager: "kubelet"}
	byPeople  = metav1.CreateOptions{FieldManager: "helm"}
)

// clientFor is a client of the admin's without a rate limit.
func clientFor(plane *controlplane.Plane) (*kubernetes.Clientset, error) {
	cfg := rest.CopyConfig(plane.Config(controlplane.Admin))
	cfg.QPS = -1
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return kubernetes.NewForConfig(cfg)
}

// fill writes the load to an empty server.
func fill(ctx context.Context, client kubernetes.Interface, l load) error {
	for n := range namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(n)}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, ns, byPeople); err != nil {
			return err
		}
	}
	owners := make([]types.UID, l.Deployments)
	err := inParallel(ctx, l.Deployments, func(ctx context.Context, i int) (err error) {
		owners[i], err = writeDeployment(ctx, client, l, i)
		return err
	})
	if err != nil {
		return fmt.Errorf("deployments: %w", err)
	}
	if err := inParallel(ctx, l.pods(), func(ctx context.Context, k int) error {
		i := k % l.Deployments
		return writePod(ctx, client, l, i, k/l.Deployments, owners[i])
	}); err != nil {
		return fmt.Errorf("pods: %w", err)
	}
	return inParallel(ctx, l.Others, func(ctx context.Context, n int) error { return writeOthers(ctx, client, n) })
}

// writeDeployment makes a Deployment with its ReplicaSets, and returns the UID of the current one. All Deployments
// together have as many ReplicaSets as there are other objects.
func writeDeployment(ctx context.Context, client kubernetes.Interface, l load, i int) (owner types.UID, err error) {
	deployment, err := client.AppsV1().Deployments(namespaceOf(i)).Create(ctx, deploymentAt(l, i), byPeople)
	if err != nil {
		return "", err
	}
	for revision, n := current, i; revision == current || n < l.Others; revision, n = revision-1, n+l.Deployments {
		set, err := client.AppsV1().ReplicaSets(namespaceOf(i)).Create(ctx,
			replicaSetAt(l, i, revision, deployment.UID), byManager)
		if err != nil {
			return "", err
		}
		if revision == current {
			owner = set.UID
		}
	}
	return owner, nil
}

func writePod(ctx context.Context, client kubernetes.Interface, l load, i, n int, owner types.UID) error {
	pod := podAt(l, i, n, owner)
	pods := client.CoreV1().Pods(pod.Namespace)
	if _, err := pods.Create(ctx, pod, byManager); err != nil {
		return err
	}
	pod.Status = statusAt(i, n)
	_, err := pods.UpdateStatus(ctx, pod, byKubelet)
	return err
}

func writeOthers(ctx context.Context, client kubernetes.Interface, n int) error {
	namespace := namespaceOf(n)
	if _, err := client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, sliceAt(n), byPeople); err != nil {
		return fmt.Errorf("endpointslice: %w", err)
	}
	if _, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, configMapAt(n), byPeople); err != nil {
		return fmt.Errorf("configmap: %w", err)
	}
	if _, err := client.CoreV1().Secrets(namespace).Create(ctx, secretAt(n), byPeople); err != nil {
		return fmt.Errorf("secret: %w", err)
	}
	return nil
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
