package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"glasswatch/cmd/foo-controller/api/v1alpha1"
	"glasswatch/cmd/foo-controller/client"
	"glasswatch/cmd/foo-controller/foostory"
	"glasswatch/internal/actors"
	"glasswatch/tests/check/controlplane"
	"glasswatch/tests/check/manifests"
)

var buildFooController = sync.OnceValues(func() (string, error) {
	return buildImage(root, "foo-controller", version, shared.dir)
})

// fooAccount is the service account of deploy/foo-controller in a namespace of its own, with cluster roles of its own.
type fooAccount struct {
	*cluster
	t    *testing.T
	ns   string
	file string // the program
}

func newFooAccount(t *testing.T) *fooAccount {
	c := onSharedPlane(t)
	file, err := buildFooController()
	require.NoError(t, err)
	return &fooAccount{c, t, c.namespace(t, "foo"), file}
}

func (a *fooAccount) account() (user string, groups []string) {
	return "system:serviceaccount:" + a.ns + ":foo-controller", []string{"system:serviceaccounts",
		"system:serviceaccounts:" + a.ns, "system:authenticated"}
}

// grant applies deploy/foo-controller without a right, and waits until the API server has taken note.
func (a *fooAccount) grant(dropped func(resource, verb string) bool) {
	a.t.Helper()
	var objects []*unstructured.Unstructured
	for _, object := range manifestsOf(a.t, manifests.FooController, a.ns, dropped) {
		switch object.GetKind() {
		case "Deployment", "CustomResourceDefinition", "Namespace":
			continue // they are there, or run as a process
		case "ClusterRoleBinding":
			require.NoError(a.t, unstructured.SetNestedField(object.Object, object.GetName()+a.ns, "roleRef", "name"))
			object.SetName(object.GetName() + a.ns)
		case "ClusterRole":
			object.SetName(object.GetName() + a.ns)
		}
		objects = append(objects, object)
	}
	a.apply(a.t, objects)
	user, groups := a.account()
	forEachRight(a.t, objects, func(group, resource, name, verb string) {
		resource, sub, _ := strings.Cut(resource, "/")
		asked := authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Subresource: sub,
			Namespace: a.ns, Name: name}
		eventually(a.t, func() error {
			review, err := a.client.AuthorizationV1().SubjectAccessReviews().Create(a.t.Context(),
				&authorizationv1.SubjectAccessReview{
					Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groups,
						ResourceAttributes: &asked}}, metav1.CreateOptions{})
			if err == nil && !review.Status.Allowed {
				err = fmt.Errorf("may not yet %s %s", verb, resource)
			}
			return err
		})
	})
}

// forEachRight calls do with each right of the roles among the objects.
func forEachRight(t *testing.T, objects []*unstructured.Unstructured, do func(group, resource, name, verb string)) {
	for _, object := range objects {
		if kind := object.GetKind(); kind != "Role" && kind != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role))
		for _, rule := range role.Rules {
			require.Len(t, rule.Resources, 1)
			for _, verb := range rule.Verbs {
				do(rule.APIGroups[0], rule.Resources[0], strings.Join(rule.ResourceNames, ""), verb)
			}
		}
	}
}

// args are the Deployment's, but for the Foos of one namespace and with a log that people read.
func (a *fooAccount) args(namespace string) []string {
	args := append(deployedArgs(a.t, manifests.FooController, a.ns), "--namespace="+namespace, "--log-format=text")
	return append(args, steadyLease...)
}

func (a *fooAccount) kubeconfig() string {
	user, groups := a.account()
	return a.kubeconfigAs(a.t, user, groups)
}

func TestFoo_PlaysItsStoryUnderItsOwnRights(t *testing.T) {
	t.Parallel()
	a := newFooAccount(t)
	a.grant(nil)
	namespace := "story-" + a.ns
	program := foostory.Process(a.file, append(a.args(namespace), "--kubeconfig="+a.kubeconfig())...)
	require.Equal(t, foostory.Golden, foostory.Story(t, a.plane.Config(controlplane.Admin), namespace, program))
}

func TestFoo_EachRightIsNeededAndHealsWhenItIsGranted(t *testing.T) {
	t.Parallel()
	onSharedPlane(t)
	forEachRight(t, manifestsOf(t, manifests.FooController, "any", nil), func(_, resource, _, verb string) {
		t.Run(verb+" "+resource, func(t *testing.T) {
			t.Parallel()
			a := newFooAccount(t)
			a.grant(func(r, v string) bool {
				// A server with streaming lists needs watch only; without both the error names the list.
				return r == resource && (v == verb || verb == "list" && v == "watch")
			})
			acting, stop := context.WithCancel(context.Background())
			acted := make(chan error, 1)
			go func() { acted <- actors.New(a.client, a.ns).Run(acting) }()
			defer func() { stop(); require.NoError(t, <-acted) }()
			p := startProgram(t, a.file, a.kubeconfig(), a.args(a.ns)...)
			foos, err := client.New(a.plane.Config(controlplane.Admin))
			require.NoError(t, err)
			want := int32(1)
			sync := func() *v1alpha1.Foo { // create it, or scale it
				want++
				foo := &v1alpha1.Foo{ObjectMeta: metav1.ObjectMeta{Name: "web"},
					Spec: v1alpha1.FooSpec{DeploymentName: "web", Replicas: &want}}
				foo, err := foos(a.ns).Create(t.Context(), foo, metav1.CreateOptions{})
				if err != nil {
					foo, err = foos(a.ns).Patch(t.Context(), "web", "application/merge-patch+json",
						fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, want), metav1.PatchOptions{})
				}
				require.NoError(t, err)
				return foo
			}
			sync()
			eventually(t, func() error {
				if _, err := a.client.AppsV1().Deployments(a.ns).Get(t.Context(), "web",
					metav1.GetOptions{}); err == nil && want == 2 {
					sync() // it exists, and is to be scaled
				}
				if resource == "foos/finalizers" {
					return p.said("cannot set blockOwnerDeletion")
				}
				return p.said(fmt.Sprintf("cannot %s resource", verb), resource)
			})
			a.grant(nil)
			if resource == "leases" && verb == "update" {
				return // it loses its lease, and ends; the ingress controller's tests see that through
			}
			sync()
			eventually(t, func() error {
				foo, err := foos(a.ns).Get(t.Context(), "web", metav1.GetOptions{})
				if err == nil && ptr.Deref(foo.Status.AvailableReplicas, -1) != want {
					err = errors.New("it does not follow")
				}
				return err
			})
		})
	})
}
