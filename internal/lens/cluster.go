package lens

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"glasswatch/controller"
	"glasswatch/internal/lens/look"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// Cluster looks at one resource of a cluster: at the metadata of its objects, so there are no values to be shown. What
// reconciles does nothing.
type Cluster struct {
	*pipeline
	mayWrite bool
}

// NewCluster finds the resource, written as pods or ingresses.networking.k8s.io, and starts to look at it. A namespace
// of "" is all. Only with mayWrite can objects be applied and deleted. Close it.
func NewCluster(cfg *rest.Config, resource, namespace string, mayWrite bool) (*Cluster, error) {
	nothing := func(context.Context, listwatch.Key) (controller.Result, error) { return controller.Result{}, nil }
	p, err := newPipeline(look.NewHub(), cfg, 0, 1, nothing)
	if err != nil {
		return nil, err
	}
	mapping, err := p.acts.find(resource)
	if err != nil {
		return nil, fmt.Errorf("resource %q: %w", resource, err)
	}
	if namespace != "" && mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return nil, fmt.Errorf("resource %q has no namespaces, so %q cannot be looked at alone", resource, namespace)
	}
	kind := mapping.GroupVersionKind.Kind
	observed := p.watch(cfg, map[string]string{mapping.Resource.Resource: kind}, false)
	lw, err := listwatch.NewMetadata(observed, mapping.Resource, listwatch.Options{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	opts := sharedinformer.Options[*metav1.PartialObjectMetadata]{Resource: mapping.Resource.GroupResource()}
	if _, err := addInformer(p, lw, kind, opts, p.hub.Report); err != nil {
		return nil, err
	}
	p.view.Can = look.GateActs
	if mayWrite {
		p.view.Can = append([]string{"apply", "delete"}, look.GateActs...)
	}
	p.start()
	return &Cluster{p, mayWrite}, nil
}

// Handler serves the page and what it asks for, without a guard: see [look.Guard].
func (c *Cluster) Handler() http.Handler {
	mux := withPage(look.Handler(c.hub))
	if c.mayWrite {
		serveAct(mux, "apply", reading(c.acts.apply))
		serveAct(mux, "delete", reading(c.acts.remove))
	}
	return mux
}

// Close ends it, and returns when its goroutines have ended.
func (c *Cluster) Close() {
	c.hub.Close()
	c.end()
	c.running.Wait()
}
