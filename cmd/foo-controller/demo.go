package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/ptr"

	"glasswatch/cmd/foo-controller/api/v1alpha1"
	"glasswatch/cmd/foo-controller/client"
	"glasswatch/cmd/internal/demo"
	"glasswatch/cmd/internal/operator"
	"glasswatch/internal/actors"
)

var story = demo.Story{Name: "foo-controller", Title: "The sample controller, on these layers",
	Next:  "docs/learn/foo-controller.md",
	Layer: "cmd/foo-controller/sync.go", Tell: tell, Follow: follow}

// show is the demo with its clients and what plays the Deployment controller.
type show struct {
	*demo.Demo
	foos  *client.Foos
	actor *actors.Workloads
	log   errorLog
}

func start(ctx context.Context, d *demo.Demo) *show {
	if !d.InProcess {
		demo.Check(errors.New("the demo plays the Deployment controller, so it is for an API server of its own only"))
	}
	demo.Check(client.Define(ctx, d.Config))
	s := &show{Demo: d, foos: demo.Must(client.New(d.Config))(d.Namespace), actor: actors.New(d.Client, d.Namespace)}
	c := demo.Must(New(d.Config, operator.Parts{Namespace: d.Namespace, Workers: 2}, 0))
	d.Go(ctx, func(ctx context.Context) { _ = s.actor.Run(ctx) }) // an error shows: nothing becomes available
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&s.log)))
	d.Go(ctx, func(ctx context.Context) { _ = c.Run(klog.NewContext(ctx, logger)) })
	return s
}

// follow lets it work on what kubectl changes.
func follow(ctx context.Context, d *demo.Demo) error {
	start(ctx, d)
	<-ctx.Done()
	return nil
}

func tell(ctx context.Context, d *demo.Demo) error {
	s := start(ctx, d)
	for _, step := range []func(context.Context){s.creates, s.scales, s.comesBack, s.foreign, s.refused, s.logs,
		s.events} {
		step(ctx)
	}
	return nil
}

func (s *show) creates(ctx context.Context) {
	s.Step("A Foo gets its Deployment")
	s.create(ctx, "web", "web", 2)
	s.follows(ctx, "web", 2)
	owner := metav1.GetControllerOf(s.deployment(ctx, "web"))
	s.Saw("it is controlled by %s %s: it is deleted with it", owner.Kind, owner.Name)
}

func (s *show) scales(ctx context.Context) {
	s.Step("The status follows the Deployment")
	s.actor.Hold("web")
	s.patch(ctx, "web", `{"spec":{"replicas":3}}`)
	s.follows(ctx, "web", 2)
	s.Did("the third Pod is ready")
	s.actor.Release("web")
	s.follows(ctx, "web", 3)
}

func (s *show) comesBack(ctx context.Context) {
	s.Step("The Deployment is deleted")
	before := s.deployment(ctx, "web").UID
	demo.Check(s.Client.AppsV1().Deployments(s.Namespace).Delete(ctx, "web", metav1.DeleteOptions{}))
	demo.Check(demo.Eventually(ctx, func() error {
		now, err := s.Client.AppsV1().Deployments(s.Namespace).Get(ctx, "web", metav1.GetOptions{})
		if err == nil && now.UID == before {
			err = errors.New("it is still there")
		}
		return err
	}))
	s.Saw("there is another one of the same name")
	s.follows(ctx, "web", 3)
}

func (s *show) foreign(ctx context.Context) {
	s.Step("A Deployment that somebody else made is left alone")
	foreign := newDeployment(&v1alpha1.Foo{Spec: v1alpha1.FooSpec{DeploymentName: "foreign"}})
	foreign.OwnerReferences = nil
	demo.Must(s.Client.AppsV1().Deployments(s.Namespace).Create(ctx, foreign, metav1.CreateOptions{}))
	s.create(ctx, "late", "foreign", 1)
	s.told(ctx, "late", reasonExists)
	s.Did("deleted that Deployment")
	demo.Check(s.Client.AppsV1().Deployments(s.Namespace).Delete(ctx, "foreign", metav1.DeleteOptions{}))
	s.told(ctx, "late", reasonSynced)
	s.Why("nothing tells that the name is free; a retry finds out, or the next resync")
}

func (s *show) refused(ctx context.Context) {
	s.Step("Eleven replicas are refused by the schema")
	_, err := s.foos.Patch(ctx, "web", types.MergePatchType, []byte(`{"spec":{"replicas":11}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) {
		demo.Check(fmt.Errorf("want it to be refused, got %w", err))
	}
	s.Saw("%v", err)
}

func (s *show) logs(ctx context.Context) {
	s.Step("What it logs of a missing name, of a retry, and of a Foo that was deleted meanwhile")
	s.create(ctx, "nameless", "", 1)
	s.said(ctx, "Deployment name missing", "nameless")
	s.create(ctx, "lost", "web", 1)
	s.said(ctx, "Error syncing", "lost")
	s.Did("deleted Foo lost")
	demo.Check(s.foos.Delete(ctx, "lost", metav1.DeleteOptions{}))
	s.said(ctx, "no longer exists", "lost")
}

func (s *show) create(ctx context.Context, name, deployment string, replicas int32) {
	foo := &v1alpha1.Foo{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.FooSpec{DeploymentName: deployment, Replicas: &replicas}}
	demo.Must(s.foos.Create(ctx, foo, metav1.CreateOptions{}))
	s.Did("created Foo %s: deploymentName %q, replicas %d", name, deployment, replicas)
}

func (s *show) patch(ctx context.Context, name, patch string) {
	demo.Must(s.foos.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))
	s.Did("patched Foo %s: %s", name, patch)
}

func (s *show) deployment(ctx context.Context, name string) *appsv1.Deployment {
	return demo.Must(s.Client.AppsV1().Deployments(s.Namespace).Get(ctx, name, metav1.GetOptions{}))
}

// follows waits until so many replicas are available, by the Deployment and by the Foo.
func (s *show) follows(ctx context.Context, name string, available int32) {
	var foo *v1alpha1.Foo
	var d *appsv1.Deployment
	demo.Check(demo.Eventually(ctx, func() (err error) {
		if d, err = s.Client.AppsV1().Deployments(s.Namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		foo = demo.Must(s.foos.Get(ctx, name, metav1.GetOptions{}))
		if *d.Spec.Replicas != *foo.Spec.Replicas || d.Status.ObservedGeneration != d.Generation ||
			d.Status.AvailableReplicas != available || ptr.Deref(foo.Status.AvailableReplicas, -1) != available {
			return fmt.Errorf("want %d available of Foo %s, have %+v and %+v", available, name, foo.Status, d.Status)
		}
		return nil
	}))
	s.Saw("Deployment %s: replicas %d, available %d; Foo %s: availableReplicas %d", name, *d.Spec.Replicas, available,
		name, available)
}
