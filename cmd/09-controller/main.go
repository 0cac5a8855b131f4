// Command 09-controller builds a controller of Ingresses from the layers of the earlier demos, line by line. It has two
// informers. informers.go builds one by hand, layer by layer, and uses a ready-made one for the other.
package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	networkingclient "k8s.io/client-go/kubernetes/typed/networking/v1"

	"glasswatch/cmd/internal/demo"
	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
	"glasswatch/workqueue"
)

func main() { demo.Main(story) }

var story = demo.Story{Name: "09-controller", Title: "From something changed to it is right again",
	Layer: "controller/ingress/doc.go", Next: "docs/learn/tour.md, chapter 8", Tell: demo.Steps(tell, ladder)}

type controller struct {
	services  *services
	ingresses *sharedinformer.Informer[*networkingv1.Ingress]
	queue     *workqueue.RateLimitingQueue[listwatch.Key]
	client    networkingclient.IngressInterface
	*demo.Teller
}

// work takes keys until the queue is shut down. Any number of goroutines may do that: no two of them have the same key.
func (c *controller) work(ctx context.Context) {
	for {
		key, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if did, err := c.reconcile(ctx, key); err != nil {
			c.queue.AddRateLimited(key)
			c.Tell("%s: failed: %v; retry %d", key.Name, err, c.queue.NumRequeues(key))
		} else if c.queue.Forget(key); did != "" {
			c.Tell("%s: %s", key.Name, did)
		}
		c.queue.Done(key)
	}
}

// reconcile looks at the present state, not at the event: it reads the caches, and writes only a difference.
func (c *controller) reconcile(ctx context.Context, key listwatch.Key) (did string, err error) {
	service, found := c.services.GetByKey(key)
	if !found {
		return "", nil // the server collects the Ingress by its owner
	}
	ingress, found := c.ingresses.Store().GetByKey(key)
	wanted := service.Annotations["ingress/http"] == "true" && len(service.Spec.Ports) > 0
	switch {
	case found && !metav1.IsControlledBy(ingress, service):
		return "", nil // somebody else's
	case found && !wanted:
		same := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(ingress.UID))}
		did, err = "deleted", c.client.Delete(ctx, key.Name, same)
	case !wanted:
	case !found:
		did = "created"
		ingress, err = c.client.Create(ctx, desire(service), metav1.CreateOptions{})
	case !equality.Semantic.DeepEqual(ingress.Spec, desire(service).Spec):
		did, ingress = "corrected", ingress.DeepCopy() // the cached object is shared
		ingress.Spec = desire(service).Spec
		ingress, err = c.client.Update(ctx, ingress, metav1.UpdateOptions{}) // with a stale cache a conflict, tried again
	}
	if err == nil && wanted && did != "" {
		err = c.ingresses.WaitForResourceVersion(ctx, ingress.ResourceVersion) // the next reconcile sees this write
	}
	return did, err
}

func desire(service *corev1.Service) *networkingv1.Ingress {
	port := networkingv1.ServiceBackendPort{Number: service.Spec.Ports[0].Port}
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service.Name, Port: port}}
	owner := metav1.NewControllerRef(service, corev1.SchemeGroupVersion.WithKind("Service")) // so it goes when the Service goes
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: service.Name, OwnerReferences: []metav1.OwnerReference{*owner}},
		Spec:       networkingv1.IngressSpec{IngressClassName: new("nobodys"), DefaultBackend: &backend},
	}
}

func tell(ctx context.Context, d *demo.Demo) {
	d.Step("listwatch → reflector → deltafifo → indexer → sharedinformer → workqueue → reconcile")
	queue := workqueue.NewRateLimiting(workqueue.Options[listwatch.Key]{})
	c := &controller{queue: queue, client: d.Client.NetworkingV1().Ingresses(d.Namespace), Teller: d.Teller(ctx),
		services: mirror(ctx, d, queue.Add), ingresses: informer(ctx, d, queue.Add)}
	d.Saw("one %s of keys: an Ingress has the name of its Service, so both lead to the same key", typeOf(queue))
	d.Did("start two workers, each of which takes a key, calls reconcile and says Done")
	d.Go(ctx, c.work)
	d.Go(ctx, c.work)
	d.Go(ctx, func(ctx context.Context) { <-ctx.Done(); queue.ShutDown() })
	services := d.Client.CoreV1().Services(d.Namespace)
	d.Step("A Service asks for an Ingress")
	demo.Must(services.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"ingress/http": "true"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{}))
	c.expect(ctx, d, "created")
	d.Step("Somebody edits it; somebody deletes it")
	port81 := []byte(`{"spec":{"defaultBackend":{"service":{"port":{"number":81}}}}}`)
	demo.Must(c.client.Patch(ctx, "web", types.MergePatchType, port81, metav1.PatchOptions{}))
	c.expect(ctx, d, "corrected")
	demo.Check(c.client.Delete(ctx, "web", metav1.DeleteOptions{}))
	c.expect(ctx, d, "created")
	d.Why("three causes and one answer: the key says where to look, not what happened, so nothing that was missed is lost")
	if faults := d.FaultStep("The server fails, twice"); faults != nil {
		faults.FailNext(2, apiserver.Failure{Verb: "create", Resource: "ingresses", Code: 500})
		demo.Check(c.client.Delete(ctx, "web", metav1.DeleteOptions{}))
		c.expect(ctx, d, "created")
		d.Why("the key comes back, each time later; Forget, after it went well, makes the next failure a first one")
	}
	d.Step("The Service asks no more")
	demo.Must(services.Patch(ctx, "web", types.MergePatchType, []byte(`{"metadata":{"annotations":null}}`), metav1.PatchOptions{}))
	c.expect(ctx, d, "deleted")
	d.Why("the grown-up version: package controller is this loop with a drain, panics, priorities and metrics; controller/ingress " +
		"has the rules, and touches nobody's fields but its own; go run ./cmd/ingress-controller --demo plays them")
}

// expect prints the workers' writes, and then the server's objects.
func (c *controller) expect(ctx context.Context, d *demo.Demo, did string) {
	c.Until("web: " + did)
	ingress, err := c.client.Get(ctx, "web", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		d.Saw("the server has no Ingress web")
		return
	}
	demo.Check(err)
	backend, owner := ingress.Spec.DefaultBackend.Service, metav1.GetControllerOf(ingress)
	d.Saw("the server has Ingress web: to %s:%d, of %s %s", backend.Name, backend.Port.Number, owner.Kind, owner.Name)
}
