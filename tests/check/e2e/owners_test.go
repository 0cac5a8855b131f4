package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	cloudv1 "glasswatch/cmd/cloudmanager/api/v1"
	foov1alpha1 "glasswatch/cmd/foo-controller/api/v1alpha1"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/custom"
	"glasswatch/tests/check/controlplane"
)

// defineAll defines the custom resources of all programs, and returns when the API server takes their objects for owners.
// Admission looks for kinds when it is first asked about an owner that blocks, and then every 30 s. Until it looks again,
// it refuses owners of a kind that has come since to all but admins, and a controller retries ever more rarely.
// So nobody asks before all kinds are discovered.
func defineAll(plane *controlplane.Plane) error {
	ctx, cfg := context.Background(), plane.Config(controlplane.Admin)
	if err := errors.Join(custom.Define(ctx, cfg, foov1alpha1.Definition), custom.Define(ctx, cfg, cloudv1.Definition)); err != nil {
		return err
	}
	admin, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	// It may create Secrets, but not set finalizers on everything, as an admin may.
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "system:kube-controller-manager"}
	other, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	kinds := []schema.GroupVersionKind{foov1alpha1.Kind, cloudv1.Kind}
	err = apiservertest.Within(ctx, patience, func() error { return discovered(admin, kinds) })
	for _, kind := range kinds {
		err = errors.Join(err, apiservertest.Within(ctx, patience, func() error { return takenForOwner(ctx, other, kind) }))
	}
	return err
}

func discovered(client kubernetes.Interface, kinds []schema.GroupVersionKind) error {
	_, lists, err := client.Discovery().ServerGroupsAndResources()
	if err != nil {
		return err
	}
	found := map[schema.GroupVersionKind]bool{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			found[schema.FromAPIVersionAndKind(list.GroupVersion, resource.Kind)] = true
		}
	}
	for _, kind := range kinds {
		if !found[kind] {
			return fmt.Errorf("%s is not discovered", kind)
		}
	}
	return nil
}

// takenForOwner wants admission to know the kind, so that it asks for the right to set finalizers on the owner.
func takenForOwner(ctx context.Context, client kubernetes.Interface, kind schema.GroupVersionKind) error {
	owner := metav1.OwnerReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: "a", UID: "a",
		BlockOwnerDeletion: new(true)}
	owned := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a", OwnerReferences: []metav1.OwnerReference{owner}}}
	_, err := client.CoreV1().Secrets("default").Create(ctx, owned, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil || !strings.Contains(err.Error(), "can't set finalizers on") {
		return fmt.Errorf("the API server does not ask for the right to finalize a %s: %v", kind.Kind, err)
	}
	return nil
}
