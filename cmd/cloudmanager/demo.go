package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/gentype"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
	"glasswatch/cmd/internal/demo"
	"glasswatch/cmd/internal/operator"
	"glasswatch/internal/actors"
	"glasswatch/internal/custom"
)

var story = demo.Story{Name: "cloudmanager", Title: "An operator with order: front, identity, database",
	Layer: "cmd/cloudmanager/reconcile.go", Next: "docs/cloudmanager.md", Tell: tell}

// world is the demo's. Actors play the controllers of Deployments and StatefulSets, which its API server does not have.
type world struct {
	*demo.Demo
	*actors.Workloads
	managers *gentype.ClientWithList[*v1.CloudManager, *v1.CloudManagerList]
}

func tell(ctx context.Context, d *demo.Demo) error {
	demo.Check(custom.Define(ctx, d.Config, v1.Definition))
	clients := demo.Must(custom.NewClient[v1.CloudManager, v1.CloudManagerList](d.Config, v1.Scheme, v1.Resource))
	w := world{d, actors.New(d.Client, d.Namespace), clients(d.Namespace)}
	defer d.Go(ctx, func(ctx context.Context) { _ = w.Run(ctx) })() // if it fails, what the story waits for does not come
	flags := operator.Flags{Namespace: d.Namespace, Workers: 2}
	defer d.Go(ctx, func(ctx context.Context) { _ = operator.Run(ctx, d.Config, &flags, newProgram()) })()
	for _, step := range []func(context.Context){w.order, w.rename, w.drift, w.foreign, w.stays} {
		step(ctx)
	}
	return nil
}

// saw waits until a condition has this reason for the present spec, and prints the status and what is there.
func (w world) saw(ctx context.Context, condition, reason string) {
	demo.Check(demo.Eventually(ctx, func() error {
		cm, err := w.managers.Get(ctx, "cloud", metav1.GetOptions{})
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(cm.Status.Conditions, condition)
		if c == nil || c.Reason != reason || c.ObservedGeneration != cm.Generation || strings.Contains(c.Message, "not seen") {
			return fmt.Errorf("want %s, got %+v", reason, cm.Status)
		}
		w.Saw("%s, %s=%s %s: %s", cm.Status.Phase, condition, c.Status, c.Reason, c.Message)
		w.Saw("%s", w.there(ctx))
		return nil
	}))
}

// there lists the workloads, Secrets and claims.
func (w world) there(ctx context.Context) (all string) {
	for _, o := range demo.Must(w.Client.AppsV1().Deployments(w.Namespace).List(ctx, metav1.ListOptions{})).Items {
		all += " deployment/" + o.Name
	}
	for _, o := range demo.Must(w.Client.AppsV1().StatefulSets(w.Namespace).List(ctx, metav1.ListOptions{})).Items {
		all += " statefulset/" + o.Name
	}
	for _, o := range demo.Must(w.Client.CoreV1().Secrets(w.Namespace).List(ctx, metav1.ListOptions{})).Items {
		all += " secret/" + o.Name
	}
	for _, o := range demo.Must(w.Client.CoreV1().PersistentVolumeClaims(w.Namespace).List(ctx, metav1.ListOptions{})).Items {
		all += " claim/" + o.Name
	}
	return strings.TrimSpace(all)
}

// heard waits for an Event.
func (w world) heard(ctx context.Context, event string) {
	demo.Until(ctx, "Event "+event, func() bool {
		events := demo.Must(w.Client.CoreV1().Events(w.Namespace).List(ctx, metav1.ListOptions{}))
		return slices.ContainsFunc(events.Items, func(e corev1.Event) bool { return e.Type+" "+e.Reason+": "+e.Message == event })
	})
	w.Saw("Event %s", event)
}

func (w world) create(ctx context.Context) {
	cm := &v1.CloudManager{ObjectMeta: metav1.ObjectMeta{Name: "cloud"}}
	cm.Spec.Front.Deployment = v1.Workload{Name: "ake-front", Image: "nginx:1.20"}
	cm.Spec.Identity.Deployment = v1.Workload{Name: "cm-identity", Image: "busybox:1.32.1"}
	cm.Spec.DB.StatefulSet = v1.StatefulWorkload{Name: "cm-db", Image: "mariadb:10.6", Storage: v1.Storage{Size: resource.MustParse("1Gi")}}
	demo.Must(w.managers.Create(ctx, cm, metav1.CreateOptions{}))
	w.Did("created CloudManager cloud")
}

func (w world) change(ctx context.Context, what string, mutate func(*v1.CloudManagerSpec)) {
	demo.Check(demo.Eventually(ctx, func() error {
		cm := demo.Must(w.managers.Get(ctx, "cloud", metav1.GetOptions{}))
		mutate(&cm.Spec)
		_, err := w.managers.Update(ctx, cm, metav1.UpdateOptions{})
		return err
	}))
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
	w.change(ctx, "renamed the front to portal", func(s *v1.CloudManagerSpec) { s.Front.Deployment.Name = "portal" })
	w.saw(ctx, v1.ConditionReady, "FrontNotReady")
	w.Did("let the Pod of portal start")
	w.Release("portal")
	w.heard(ctx, `Normal Deleted: Deleted deployment "ake-front"`)
	w.saw(ctx, v1.ConditionReady, desired.ReasonReady)
}

func (w world) drift(ctx context.Context) {
	w.Step("An image that was edited by hand is put right, replicas are not")
	demo.Check(demo.Eventually(ctx, func() error {
		d := demo.Must(w.Client.AppsV1().Deployments(w.Namespace).Get(ctx, "portal", metav1.GetOptions{}))
		d.Spec.Template.Spec.Containers[0].Image, d.Spec.Replicas = "nginx:latest", new(int32(3))
		_, err := w.Client.AppsV1().Deployments(w.Namespace).Update(ctx, d, metav1.UpdateOptions{})
		return err
	}))
	w.Did("set the image of Deployment portal to nginx:latest, and scaled it to 3")
	w.heard(ctx, `Normal Updated: Updated deployment "portal"`)
	var d *appsv1.Deployment
	demo.Until(ctx, "three replicas", func() bool {
		d = demo.Must(w.Client.AppsV1().Deployments(w.Namespace).Get(ctx, "portal", metav1.GetOptions{}))
		return d.Status.ReadyReplicas == 3
	})
	w.Saw("%s, %d replicas", d.Spec.Template.Spec.Containers[0].Image, d.Status.ReadyReplicas)
}

func (w world) foreign(ctx context.Context) {
	w.Step("A child of somebody else is left alone, and waited for")
	services := w.Client.CoreV1().Services(w.Namespace)
	demo.Must(services.Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "db2"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{}))
	w.change(ctx, "created Service db2, and then renamed the database to db2", func(s *v1.CloudManagerSpec) { s.DB.StatefulSet.Name = "db2" })
	w.saw(ctx, v1.ConditionReconciled, desired.ReasonExists)
	demo.Check(services.Delete(ctx, "db2", metav1.DeleteOptions{}))
	w.Did("deleted that Service")
	w.heard(ctx, `Normal Deleted: Deleted statefulset "cm-db"`)
	w.saw(ctx, v1.ConditionReady, desired.ReasonReady)
}

func (w world) stays(ctx context.Context) {
	w.Step("Data and password stay when the CloudManager goes")
	demo.Check(w.managers.Delete(ctx, "cloud", metav1.DeleteOptions{}))
	w.Did("deleted CloudManager cloud")
	const left = "secret/cloudauth claim/datadir-cm-db-0 claim/datadir-db2-0"
	demo.Until(ctx, left, func() bool { return w.there(ctx) == left })
	w.Saw("%s", left)
	w.create(ctx)
	w.saw(ctx, v1.ConditionReady, desired.ReasonReady)
	w.Why("the new database has the claim and the password of the old one. To lose the data, delete the claim")
}
