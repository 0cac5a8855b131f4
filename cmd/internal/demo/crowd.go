package demo

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
)

const (
	localCrowd   = 30_000 // namespaces
	clusterCrowd = 300    // ConfigMaps
	creators     = 8
)

// Crowd is a list that is long enough for pages: 30,000 namespaces in process, where they are cheap, and 300 ConfigMaps
// on a cluster.
type Crowd struct {
	What string // "30,000 namespaces"
	// PageSizes to try, 0 for everything at once.
	PageSizes []int64
	// Add creates one more.
	Add func(ctx context.Context, name string) error

	list func(ctx context.Context, client kubernetes.Interface, opts metav1.ListOptions) (runtime.Object, error)
}

// Page is one answer to a list.
type Page struct {
	Objects  int
	Continue string
	List     runtime.Object
}

// List asks for one page of them, and of what else there is of their kind, with any client for the same server.
func (c *Crowd) List(ctx context.Context, client kubernetes.Interface, opts metav1.ListOptions) (*Page, error) {
	list, err := c.list(ctx, client, opts)
	if err != nil {
		return nil, err
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	return &Page{Objects: meta.LenList(list), Continue: m.GetContinue(), List: list}, nil
}

// Crowd creates the crowd; call it once.
func (d *Demo) Crowd(ctx context.Context) (*Crowd, error) {
	if d.server == nil {
		return d.configMaps(ctx)
	}
	names := make([]string, localCrowd)
	for i := range names {
		names[i] = fmt.Sprintf("crowd-%05d", i)
	}
	return &Crowd{
		What:      "30,000 namespaces",
		PageSizes: []int64{100, 500, 5000, 0},
		list: func(ctx context.Context, client kubernetes.Interface, opts metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Namespaces().List(ctx, opts)
		},
		Add: func(_ context.Context, name string) error { return d.server.SeedNamespaces(name) },
	}, d.server.SeedNamespaces(names...)
}

func (d *Demo) configMaps(ctx context.Context) (*Crowd, error) {
	configMaps := d.Client.CoreV1().ConfigMaps(d.Namespace)
	add := func(ctx context.Context, name string) error {
		_, err := configMaps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i := range clusterCrowd {
		group.Go(func() error { return add(ctx, fmt.Sprintf("crowd-%05d", i)) })
	}
	return &Crowd{
		What:      "300 ConfigMaps",
		PageSizes: []int64{10, 50, 100, 0},
		list: func(ctx context.Context, client kubernetes.Interface, opts metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().ConfigMaps(d.Namespace).List(ctx, opts)
		},
		Add: add,
	}, group.Wait()
}
