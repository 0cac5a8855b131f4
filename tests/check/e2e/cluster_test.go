package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/tests/check/controlplane"
	"glasswatch/tests/check/manifests"
)

// cluster is a control plane, seen by its admin.
type cluster struct {
	plane   *controlplane.Plane
	client  kubernetes.Interface
	dynamic dynamic.Interface
	mapper  meta.RESTMapper
}

func newCluster(plane *controlplane.Plane) (*cluster, error) {
	cfg := plane.Config(controlplane.Admin)
	cfg.QPS, cfg.Burst = 200, 400
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	untyped, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(client.Discovery())
	if err != nil {
		return nil, err
	}
	return &cluster{plane, client, untyped, restmapper.NewDiscoveryRESTMapper(groups)}, nil
}

// steadyLease is for a leader that is to lead until it is stopped or killed, however busy the machine is. Another takes
// over within the patience of a test, even from one that was killed.
var steadyLease = []string{"--leader-elect-lease-duration=30s", "--leader-elect-renew-deadline=25s",
	"--leader-elect-retry-period=500ms"}

// briefLease is for a leader that cannot renew it.
var briefLease = []string{"--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s",
	"--leader-elect-retry-period=500ms"}

// patience is how long a test waits for a certain result.
const patience = apiservertest.Patience

// eventually waits until check gives no error.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	apiservertest.Eventually(t, "the cluster", check)
}

// manifestsOf loads one way to install, moved into namespace, without the rights that drop picks.
func manifestsOf(t *testing.T, way, namespace string, drop func(resource, verb string) bool) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifests.Load(deploy, way)
	require.NoError(t, err)
	manifests.MoveTo(objects, namespace)
	for _, object := range objects {
		if kind := object.GetKind(); drop == nil || kind != "Role" && kind != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role))
		var rules []rbacv1.PolicyRule
		for _, rule := range role.Rules {
			var kept []string
			for _, verb := range rule.Verbs {
				if !drop(rule.Resources[0], verb) {
					kept = append(kept, verb)
				}
			}
			if rule.Verbs = kept; len(kept) > 0 {
				rules = append(rules, rule)
			}
		}
		role.Rules = rules
		changed, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&role)
		require.NoError(t, err)
		object.Object["rules"] = changed["rules"]
	}
	return objects
}

// apply is kubectl apply --server-side.
func (c *cluster) apply(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		gvk := object.GroupVersionKind()
		mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		require.NoError(t, err)
		resource := dynamic.ResourceInterface(c.dynamic.Resource(mapping.Resource))
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			resource = c.dynamic.Resource(mapping.Resource).Namespace(object.GetNamespace())
		}
		_, err = resource.Apply(t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
		require.NoError(t, err, "%s %s", gvk.Kind, object.GetName())
	}
}

// install applies one way to install in full, and waits until the API server applies its roles.
func (c *cluster) install(t *testing.T, way, namespace string) {
	t.Helper()
	objects := manifestsOf(t, way, namespace, nil)
	c.apply(t, objects)
	for _, object := range objects {
		if kind := object.GetKind(); kind != "Role" && kind != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role))
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
				asked := authorizationv1.ResourceAttributes{Verb: verb, Group: rule.APIGroups[0], Resource: resource, Subresource: subresource, Namespace: role.Namespace}
				if len(rule.ResourceNames) > 0 {
					asked.Name = rule.ResourceNames[0]
				}
				eventually(t, func() error { return c.granted(t, namespace, asked) })
			}
		}
	}
}

// granted wants the controller's service account in namespace to have a right.
func (c *cluster) granted(t *testing.T, namespace string, asked authorizationv1.ResourceAttributes) error {
	user, groups := accountIn(namespace)
	review, err := c.client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groups, ResourceAttributes: &asked}}, metav1.CreateOptions{})
	if err == nil && !review.Status.Allowed {
		err = fmt.Errorf("%s may not yet %s %s in %q", user, asked.Verb, asked.Resource, asked.Namespace)
	}
	return err
}

// accountIn is the controller's service account in namespace, with its groups.
func accountIn(namespace string) (user string, groups []string) {
	return fmt.Sprintf("system:serviceaccount:%s:ingress-controller", namespace),
		[]string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
}

// namespace makes one whose name begins with prefix.
func (c *cluster) namespace(t *testing.T, prefix string) string {
	t.Helper()
	made, err := c.client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return made.Name
}

// kubeconfigOf is for the controller's service account in namespace. No controller here makes its token, so the admin
// impersonates it, with its rights and no others.
func (c *cluster) kubeconfigOf(t *testing.T, namespace string) string {
	t.Helper()
	user, groups := accountIn(namespace)
	return c.kubeconfigAs(t, user, groups)
}

func (c *cluster) kubeconfigAs(t *testing.T, name string, groups []string) string {
	t.Helper()
	cfg, err := clientcmd.LoadFromFile(c.plane.Kubeconfig(controlplane.Admin))
	require.NoError(t, err)
	for _, user := range cfg.AuthInfos {
		user.Impersonate, user.ImpersonateGroups = name, groups
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*cfg, path))
	return path
}

// clientOf is a client with this kubeconfig.
func clientOf(t *testing.T, kubeconfig string) kubernetes.Interface {
	t.Helper()
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, &clientcmd.ConfigOverrides{}).ClientConfig()
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	return client
}

// deployedArgs are the Deployment's, for a process that shares this machine with others.
func deployedArgs(t *testing.T, way, namespace string) []string {
	t.Helper()
	for _, object := range manifestsOf(t, way, namespace, nil) {
		if object.GetKind() != "Deployment" {
			continue
		}
		containers, found, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		require.NoError(t, err)
		require.True(t, found)
		args, found, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
		require.NoError(t, err)
		require.True(t, found)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "$(POD_NAMESPACE)", namespace)
		}
		// The last of two flags counts.
		return append(args, "--metrics-addr=127.0.0.1:0", "--health-addr=127.0.0.1:0", "--leader-elect-namespace="+namespace)
	}
	t.Fatal("no Deployment")
	return nil
}
