package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/12-shards/audit"
	"glasswatch/cmd/internal/demo"
	"glasswatch/listwatch/shard"
)

const (
	parts      = 10 // each storm changes one part of the Services
	all        = -1 // instead of a part
	writers    = 4
	stormSpeed = 600 // changes a second
)

// world is the replicas, the Services, and all that is noted of what happens to them.
type world struct {
	*audit.Audit
	d          *demo.Demo
	by         shard.Field
	watched    string // the namespace that the replicas watch; "" is all
	namespaces int
	services   []*service
	replicas   map[string]*replica // used by the story's goroutine only

	mu      sync.Mutex // protects what follows, and what the services say
	byKey   map[string]*service
	changes int
	pending int // Services whose last change the server does not show yet
}

// service is a Service, and how long its last change has waited for its Ingress.
type service struct {
	namespace, name string
	part            int
	shard           int    // -1 until it is created
	host            string // that the Service asks for
	changed         time.Time
	waited          time.Duration // -1 while it waits
}

// newWorld has 200 namespaces with many Services, and fewer of both in tests. On a cluster, where all of a demo is in one
// namespace, shards divide by UID.
func newWorld(d *demo.Demo) *world {
	w := &world{Audit: audit.New(group, shardCount), d: d, by: shard.Namespace, namespaces: 200,
		replicas: map[string]*replica{}, byKey: map[string]*service{}}
	each := 25
	if demo.Brief {
		w.namespaces, each = 80, 4 // a part for each storm
	}
	if !d.InProcess {
		w.by, w.watched, w.namespaces, each = shard.UID, d.Namespace, 1, 300
	}
	for i := range each { // so that a storm comes to all namespaces soon
		for n := range w.namespaces {
			namespace := fmt.Sprintf("%03d-shop", n)
			if !d.InProcess {
				namespace = d.Namespace
			}
			s := &service{namespace: namespace, name: fmt.Sprintf("web-%03d", i), part: i % parts, shard: -1}
			w.services, w.byKey[namespace+"/"+s.name] = append(w.services, s), s
		}
	}
	return w
}

// create creates the namespaces and the Services, and returns when all have their Ingress.
func (w *world) create(ctx context.Context) {
	w.each(w.services[:w.namespaces], func(s *service) error {
		if !w.d.InProcess {
			return nil
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
		_, err := w.d.Client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		return err
	})
	w.each(w.services, func(s *service) error {
		stored, err := w.d.Client.CoreV1().Services(s.namespace).Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: s.name, Annotations: map[string]string{
				"ingress/http": "true", "ingress/host": w.change(s),
			}},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		if err == nil {
			s.shard = shard.Index(shard.Hash(w.by.Of(stored)), shardCount)
		}
		return err
	})
	w.caughtUp(ctx)
}

// storm changes a part of the Services. After a quarter of that it does something. It returns when all have their
// Ingress.
func (w *world) storm(ctx context.Context, part int, meanwhile func()) {
	cfg := rest.CopyConfig(w.d.Config)
	if w.d.InProcess {
		cfg.QPS, cfg.Burst = stormSpeed, 1
	}
	client := demo.Must(kubernetes.NewForConfig(cfg))
	some := w.part(part)
	change := func(s *service) error {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"ingress/host":%q}}}`, w.change(s))
		services := client.CoreV1().Services(s.namespace)
		_, err := services.Patch(ctx, s.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
	w.each(some[:len(some)/4], change)
	meanwhile()
	w.each(some[len(some)/4:], change)
	w.caughtUp(ctx)
}

// change begins the wait of a Service, and returns the host that it is to ask for.
func (w *world) change(s *service) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes++
	w.pending++
	s.host, s.changed, s.waited = fmt.Sprintf("h%d.example.com", w.changes), time.Now(), -1
	return s.host
}

func (w *world) each(some []*service, do func(s *service) error) {
	var all errgroup.Group
	all.SetLimit(writers)
	for _, s := range some {
		all.Go(func() error { return do(s) })
	}
	demo.Check(all.Wait())
}
