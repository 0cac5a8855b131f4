package docs

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
)

// Change is what one write did to an object's names and versions.
type Change struct {
	What                                  string
	Key, UID, ResourceVersion, Generation string // "same", "another", or a number
}

// Identities changes a Deployment step by step, and compares it with what it was before.
func Identities(ctx context.Context, client kubernetes.Interface) (all []Change, err error) {
	deployments := client.AppsV1().Deployments("default")
	labels := map[string]string{"app": "cart"}
	fresh := func() *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "cart", Labels: labels},
			Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "cart", Image: "cart:1"}}},
				},
			},
		}
	}
	before, err := deployments.Create(ctx, fresh(), metav1.CreateOptions{})
	for _, step := range steps {
		if err != nil {
			return nil, err
		}
		var after *appsv1.Deployment
		if after, err = step.do(ctx, deployments, before.DeepCopy(), fresh()); err == nil {
			all = append(all, compare(step.what, before, after))
			before = after
		}
	}
	if err != nil {
		return nil, err
	}
	return all, deployments.Delete(ctx, "cart", metav1.DeleteOptions{})
}

type step struct {
	what string
	do   func(ctx context.Context, client typedappsv1.DeploymentInterface, d, fresh *appsv1.Deployment) (*appsv1.Deployment, error)
}

var steps = []step{
	{"a label added", func(ctx context.Context, client typedappsv1.DeploymentInterface, d, _ *appsv1.Deployment) (*appsv1.Deployment, error) {
		d.Labels["tier"] = "shop"
		return client.Update(ctx, d, metav1.UpdateOptions{})
	}},
	{"spec changed", func(ctx context.Context, client typedappsv1.DeploymentInterface, d, _ *appsv1.Deployment) (*appsv1.Deployment, error) {
		d.Spec.Replicas = new(int32)
		return client.Update(ctx, d, metav1.UpdateOptions{})
	}},
	{"status written", func(ctx context.Context, client typedappsv1.DeploymentInterface, d, _ *appsv1.Deployment) (*appsv1.Deployment, error) {
		d.Status.ObservedGeneration = d.Generation
		return client.UpdateStatus(ctx, d, metav1.UpdateOptions{})
	}},
	{"written again as it is", func(ctx context.Context, client typedappsv1.DeploymentInterface, d, _ *appsv1.Deployment) (*appsv1.Deployment, error) {
		return client.Update(ctx, d, metav1.UpdateOptions{})
	}},
	{"deleted, and made anew", func(ctx context.Context, client typedappsv1.DeploymentInterface, d, fresh *appsv1.Deployment) (*appsv1.Deployment, error) {
		if err := client.Delete(ctx, d.Name, metav1.DeleteOptions{}); err != nil {
			return nil, err
		}
		return client.Create(ctx, fresh, metav1.CreateOptions{})
	}},
}

func compare(what string, before, after *appsv1.Deployment) Change {
	differs := func(before, after string) string {
		if before == after {
			return "same"
		}
		return "another"
	}
	generation := "same"
	if before.Generation != after.Generation {
		generation = fmt.Sprintf("%d → %d", before.Generation, after.Generation)
	}
	return Change{
		What: what, Key: differs(before.Namespace+"/"+before.Name, after.Namespace+"/"+after.Name),
		UID: differs(string(before.UID), string(after.UID)), ResourceVersion: differs(before.ResourceVersion, after.ResourceVersion),
		Generation: generation,
	}
}
