package lens

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"glasswatch/controller"
	"glasswatch/indexer"
	"glasswatch/internal/lens/look"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// Cluster looks at one resource of a cluster: at the metadata of its objects, so there are no values to be shown. What
// reconciles does nothing.
type Cluster struct {
	hub     *look.Hub
	view    look.View
	end     context.CancelFunc
	running sync.WaitGroup
}

// NewCluster finds the resource, written as pods or ingresses.networking.k8s.io, and starts to look at it. A namespace
// of "" is all. Only with mayWrite can objects be applied and deleted. Close it.
func NewCluster(cfg *rest.Config, resource, namespace string, mayWrite bool) (*Cluster, error) {
	acts, err := newActor(cfg, 0)
	if err != nil {
		return nil, err
	}
	mapping, err := acts.find(resource)
	if err != nil {
		return nil, fmt.Errorf("resource %q: %w", resource, err)
	}
	if namespace != "" && mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return nil, fmt.Errorf("resource %q has no namespaces, so %q cannot be looked at alone", resource, namespace)
	}
	c := &Cluster{hub: look.NewHub(nil)}
	kind := mapping.GroupVersionKind.Kind
	observed := rest.CopyConfig(cfg)
	observed.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &look.Transport{Next: next, Hub: c.hub, Kinds: map[string]string{mapping.Resource.Resource: kind}}
	})
	lw, err := listwatch.NewMetadata(observed, mapping.Resource, listwatch.Options{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	informer := look.At[*metav1.PartialObjectMetadata](lw, kind, sharedinformer.Options[*metav1.PartialObjectMetadata]{
		Name: mapping.Resource.Resource, Resource: mapping.Resource.GroupResource(),
		Indexers: indexer.Indexers[*metav1.PartialObjectMetadata]{"app": byApp[*metav1.PartialObjectMetadata]},
	}, c.hub.Report)
	loop := controller.New[listwatch.Key](idle{}, controller.Options[listwatch.Key]{
		Name: "lens", DrainTimeout: -1,
		Observe: func(o controller.Observation[listwatch.Key]) { c.hub.Report(look.OfController(o)) },
	})
	handler := controller.EnqueueObject[*metav1.PartialObjectMetadata](loop)
	if _, err := informer.AddHandler(handler, sharedinformer.HandlerOptions{Name: enqueuer}); err != nil {
		return nil, err
	}
	c.view = look.View{
		Number: 1, Informers: map[string]look.Informer{mapping.Resource.Resource: informer},
		Loop: loop, Workers: 1, Enqueuer: enqueuer, Can: look.GateActs, Do: c.hub.Do,
	}
	if mayWrite {
		w := &World{acts: acts, hub: c.hub}
		c.view.Can = append([]string{"apply", "delete"}, look.GateActs...)
		c.view.Do = func(ctx context.Context, name string, body []byte) (any, error) {
			if name == "apply" || name == "delete" {
				return changes[name](ctx, w, body)
			}
			return c.hub.Do(ctx, name, body)
		}
	}
	ctx, end := context.WithCancel(context.Background())
	c.end = end
	c.running.Go(func() { _ = informer.Run(ctx) }) // the error is for a second Run
	c.running.Go(func() { _ = loop.Run(ctx) })     // nothing is drained
	return c, nil
}

// idle does nothing with a key.
type idle struct{}

func (idle) Reconcile(context.Context, listwatch.Key) (controller.Result, error) {
	return controller.Result{}, nil
}

// find returns the resource that a user has named.
func (a *actor) find(name string) (*meta.RESTMapping, error) {
	partial := schema.ParseGroupResource(name).WithVersion("")
	kind, err := a.mapper.KindFor(partial)
	if err != nil {
		return nil, err
	}
	return a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// Handler serves the page and what it asks for, without a guard: see [look.Guard].
func (c *Cluster) Handler() http.Handler {
	return withPage(look.Handler(c.hub, func() *look.View { return &c.view }))
}

// Close ends it, and returns when its goroutines have ended.
func (c *Cluster) Close() {
	c.hub.Close()
	c.end()
	c.running.Wait()
}
