package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
	"glasswatch/cmd/internal/demo"
	"glasswatch/cmd/internal/operator"
	"glasswatch/internal/actors"
	"glasswatch/internal/custom"
)

var story = demo.Story{Name: "cloudmanager", Title: "An operator with order: front, identity, database",
	Layer: "cmd/cloudmanager/reconcile.go", Next: "docs/learn/cloudmanager.md", Tell: tell}

// world is the demo's. Actors play the controllers of Deployments and StatefulSets, which its API server does not have.
type world struct {
	*demo.Demo
	*actors.Workloads
	managers *managersClient
}

func tell(ctx context.Context, d *demo.Demo) error {
	demo.Check(custom.Define(ctx, d.Config, v1.Definition))
	clients := demo.Must(custom.NewClient[v1.CloudManager, v1.CloudManagerList](d.Config, v1.Scheme, v1.Resource))
	w := world{d, actors.New(d.Client, d.Namespace), clients(d.Namespace)}
	defer d.Go(ctx, func(ctx context.Context) { _ = w.Run(ctx) })()
	flags := operator.Flags{Namespace: d.Namespace, Workers: 2}
	defer d.Go(ctx, func(ctx context.Context) { _ = operator.Run(ctx, d.Config, &flags, program()) })()
	for _, step := range []func(context.Context){w.order, w.rename, w.drift, w.foreign, w.stays} {
		step(ctx)
	}
	return nil
}

// saw waits until a condition has this reason for the present spec, and prints the status and what is there.
func (w world) saw(ctx context.Context, condition, reason string) {
	demo.Check(demo.Eventually(ctx, func() error {
		cm := demo.Must(w.managers.Get(ctx, "cloud", metav1.GetOptions{}))
		c := meta.FindStatusCondition(cm.Status.Conditions, condition)
		passing := c != nil && strings.Contains(c.Message, "has not seen")
		if passing || c == nil || c.Reason != reason || c.ObservedGeneration != cm.Generation {
			return fmt.Errorf("want %s, got %+v", reason, cm.Status)
		}
		w.Saw("%s, %s=%s %s: %s", cm.Status.Phase, condition, c.Status, c.Reason, c.Message)
		w.Saw("%s", w.there(ctx))
		return nil
	}))
}

// there lists the workloads, Secrets and claims.
func (w world) there(ctx context.Context) string {
	var all []string
	client := demo.Must(metadata.NewForConfig(w.Config))
	apps, core := appsv1.SchemeGroupVersion, corev1.SchemeGroupVersion
	for _, r := range []schema.GroupVersionResource{apps.WithResource("deployments"), apps.WithResource("statefulsets"),
		core.WithResource("secrets"), core.WithResource("persistentvolumeclaims")} {
		for _, o := range demo.Must(client.Resource(r).Namespace(w.Namespace).List(ctx, metav1.ListOptions{})).Items {
			all = append(all, r.Resource+"/"+o.Name)
		}
	}
	return strings.Join(all, " ")
}

// heard waits for an Event.
func (w world) heard(ctx context.Context, event string) {
	demo.Until(ctx, "Event "+event, func() bool {
		events := demo.Must(w.Client.CoreV1().Events(w.Namespace).List(ctx, metav1.ListOptions{}))
		return slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.Reason+": "+e.Message == event })
	})
	w.Saw("Event %s", event)
}

func (w world) create(ctx context.Context) {
	demo.Must(w.managers.Create(ctx, desired.Example("cloud"), metav1.CreateOptions{}))
	w.Did("created CloudManager cloud")
}

func (w world) change(ctx context.Context, what, patch string) {
	demo.Must(w.managers.Patch(ctx, "cloud", types.MergePatchType, []byte(patch), metav1.PatchOptions{}))
	w.Did("%s", what)
}

func (w world) order(ctx context.Context) {
	w.Step("Each gate holds back what comes after it")
	w.Hold("ake-front")
	w.Hold("cm-identity")
	w.create(ctx)
	w.saw(ctx, v1.ConditionReady, "FrontNotReady")
	w.Did("let the Pod of ake-front start")
	w.Release("ake-front")
	w.saw(ctx, v1.ConditionReady, "IdentityNotReady")
	w.Did("let the Pod of cm-identity start")
	w.Release("cm-identity")
	w.saw(ctx, v1.ConditionReady, desired.ReasonReady)
}

func (w world) rename(ctx context.Context) {
	w.Step("A renamed front takes over before the old one goes")
	w.Hold("portal")
	w.change(ctx, "renamed the front to portal", `{"spec":{"front":{"deployment":{"name":"portal"}}}}`)
	w.saw(ctx, v1.ConditionReady, "FrontNotReady")
	w.Did("let the Pod of portal start")
	w.Release("portal")
	w.heard(ctx, `Deleted: Deleted deployment "ake-front"`)
	w.saw(ctx, v1.ConditionReady, desired.ReasonReady)
}

func (w world) drift(ctx context.Context) {
	w.Step("An image that was edited by hand is put right, replicas are not")
	deployments := w.Client.AppsV1().Deployments(w.Namespace)
	edit := `{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"main","image":"nginx:latest"}]}}}}`
	demo.Must(deployments.Patch(ctx, "portal", types.StrategicMergePatchType, []byte(edit), metav1.PatchOptions{}))
	w.Did("set the image of Deployment portal to nginx:latest, and scaled it to 3")
	w.heard(ctx, `Updated: Updated deployment "portal"`)
	w.Saw("%d replicas", *demo.Must(deployments.Get(ctx, "portal", metav1.GetOptions{})).Spec.Replicas)
}

func (w world) foreign(ctx context.Context) {
	w.Step("A child of somebody else is left alone, and waited for")
	services := w.Client.CoreV1().Services(w.Namespace)
	demo.Must(services.Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "db2"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{}))
	w.change(ctx, "made a Service db2, renamed the database to db2", `{"spec":{"db":{"statefulSet":{"name":"db2"}}}}`)
	w.saw(ctx, v1.ConditionReconciled, desired.ReasonExists)
	w.Did("deleted that Service")
	demo.Check(services.Delete(ctx, "db2", metav1.DeleteOptions{}))
	w.heard(ctx, `Deleted: Deleted statefulset "cm-db"`)
	w.saw(ctx, v1.ConditionReady, desired.ReasonReady)
}

func (w world) stays(ctx context.Context) {
	w.Step("Data and password stay when the CloudManager goes")
	demo.Check(w.managers.Delete(ctx, "cloud", metav1.DeleteOptions{}))
	w.Did("deleted CloudManager cloud")
	const left = "secrets/cloudauth persistentvolumeclaims/datadir-cm-db-0 persistentvolumeclaims/datadir-db2-0"
	demo.Until(ctx, left, func() bool { return w.there(ctx) == left })
	w.create(ctx)
	w.saw(ctx, v1.ConditionReady, desired.ReasonReady)
	w.Why("the new database has the claim and the password of the old one. To lose the data, delete the claim")
}
