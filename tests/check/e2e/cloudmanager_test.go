package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
	"glasswatch/internal/actors"
	"glasswatch/internal/custom"
	"glasswatch/tests/check/controlplane"
	"glasswatch/tests/check/manifests"
)

var cloudManager = sync.OnceValues(func() (string, error) {
	return buildImage(root, "cloudmanager", version, shared.dir)
})

// cloud is a namespace with a CloudManager, actors and the operator, which has the rights of deploy/cloudmanager there.
type cloud struct {
	*cluster
	t        *testing.T
	ns       string
	managers *gentype.ClientWithList[*v1.CloudManager, *v1.CloudManagerList]
	args     []string
	config   string // of the operator's account
}

// onCloudManager grants the deployed rights in one namespace only, and without those that drop picks.
func onCloudManager(t *testing.T, drop func(resource, verb string) bool) *cloud {
	c := &cloud{cluster: onSharedPlane(t), t: t}
	cfg := c.plane.Config(controlplane.Admin)
	clients, err := custom.NewClient[v1.CloudManager, v1.CloudManagerList](cfg, v1.Scheme, v1.Resource)
	require.NoError(t, err)
	c.ns = c.namespace(t, "cloud")
	c.managers = clients(c.ns)
	for _, object := range manifestsOf(t, manifests.CloudManager, c.ns, drop) {
		if kind := object.GetKind(); kind != "Role" && kind != "ClusterRole" {
			continue
		}
		var role rbacv1.Role
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role))
		role.TypeMeta, role.Namespace = metav1.TypeMeta{}, c.ns
		_, err := c.client.RbacV1().Roles(c.ns).Create(t.Context(), &role, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = c.client.RbacV1().RoleBindings(c.ns).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "cloudmanager", Namespace: c.ns}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	c.args = append(deployedArgs(t, manifests.CloudManager, c.ns), "--namespace="+c.ns)
	admin, err := clientcmd.LoadFromFile(c.plane.Kubeconfig(controlplane.Admin))
	require.NoError(t, err)
	for _, user := range admin.AuthInfos {
		user.Impersonate = "system:serviceaccount:" + c.ns + ":cloudmanager"
		user.ImpersonateGroups = []string{"system:serviceaccounts", "system:serviceaccounts:" + c.ns, "system:authenticated"}
	}
	c.config = filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*admin, c.config))

	ctx, acted := t.Context(), make(chan error, 1)
	go func() { acted <- actors.New(c.client, c.ns).Run(ctx) }()
	t.Cleanup(func() { require.NoError(t, <-acted) })
	return c
}

func (c *cloud) start() *process {
	path, err := cloudManager()
	require.NoError(c.t, err)
	return startProgram(c.t, path, c.config, c.args...)
}

func (c *cloud) create() {
	_, err := c.managers.Create(c.t.Context(), desired.Example("cloud"), metav1.CreateOptions{})
	require.NoError(c.t, err)
}

func (c *cloud) change(mutate func(*v1.CloudManagerSpec)) {
	require.NoError(c.t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		cm, err := c.managers.Get(c.t.Context(), "cloud", metav1.GetOptions{})
		if err != nil {
			return err
		}
		mutate(&cm.Spec)
		_, err = c.managers.Update(c.t.Context(), cm, metav1.UpdateOptions{})
		return err
	}))
}

// runs wants that all is ready, for the present spec.
func (c *cloud) runs() error {
	cm, err := c.managers.Get(c.t.Context(), "cloud", metav1.GetOptions{})
	if err == nil && (cm.Status.Phase != v1.PhaseRunning || cm.Status.ObservedGeneration != cm.Generation ||
		!meta.IsStatusConditionTrue(cm.Status.Conditions, v1.ConditionReconciled)) {
		err = fmt.Errorf("generation %d: %+v", cm.Generation, cm.Status)
	}
	return err
}

// story makes the operator use each of its rights. until ends it early.
func (c *cloud) story(until func() error) (ended bool) {
	reached := func(goal func() error) bool {
		eventually(c.t, func() error {
			if until() == nil {
				return nil
			}
			return goal()
		})
		return until() == nil
	}
	c.create()
	if reached(c.runs) {
		return true
	}
	for _, image := range []string{"mariadb:11.2", "mariadb:11.4"} { // two Events that are alike
		c.change(func(s *v1.CloudManagerSpec) {
			s.Front.Deployment.Image, s.DB.StatefulSet.Image, s.DB.RootPass = "nginx:"+image, image, "s3cret-"+image
		})
		if reached(c.runs) {
			return true
		}
	}
	service, err := c.client.CoreV1().Services(c.ns).Get(c.t.Context(), "cm-db", metav1.GetOptions{})
	require.NoError(c.t, err)
	selector := service.Spec.Selector
	service.Spec.Selector = map[string]string{"app": "other"}
	_, err = c.client.CoreV1().Services(c.ns).Update(c.t.Context(), service, metav1.UpdateOptions{})
	require.NoError(c.t, err)
	if reached(func() error {
		service, err := c.client.CoreV1().Services(c.ns).Get(c.t.Context(), "cm-db", metav1.GetOptions{})
		if err == nil && fmt.Sprint(service.Spec.Selector) != fmt.Sprint(selector) {
			err = fmt.Errorf("the Service selects %v", service.Spec.Selector)
		}
		return err
	}) {
		return true
	}
	for _, rename := range []func(s *v1.CloudManagerSpec){
		func(s *v1.CloudManagerSpec) { s.Front.Deployment.Name = "portal" },
		func(s *v1.CloudManagerSpec) { s.DB.StatefulSet.Name = "db2" },
	} {
		c.change(rename)
		if reached(c.runs) {
			return true
		}
	}
	return reached(func() error {
		for _, left := range []error{c.gone(&appsv1.Deployment{}, "ake-front"), c.gone(&appsv1.StatefulSet{}, "cm-db"), c.gone(&corev1.Service{}, "cm-db")} {
			if left != nil {
				return left
			}
		}
		return nil
	})
}

func (c *cloud) gone(kind any, name string) (err error) {
	switch kind.(type) {
	case *appsv1.Deployment:
		_, err = c.client.AppsV1().Deployments(c.ns).Get(c.t.Context(), name, metav1.GetOptions{})
	case *appsv1.StatefulSet:
		_, err = c.client.AppsV1().StatefulSets(c.ns).Get(c.t.Context(), name, metav1.GetOptions{})
	case *corev1.Service:
		_, err = c.client.CoreV1().Services(c.ns).Get(c.t.Context(), name, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%T %s is there: %v", kind, name, err)
}

func never() error { return fmt.Errorf("nothing ends the story early") }

func TestCloudManager_WorksUnderTheDeployedRightsAndAStandbyTakesOver(t *testing.T) {
	t.Parallel()
	c := onCloudManager(t, nil)
	leader := c.start()
	eventually(t, func() error { return leader.ready() })
	eventually(t, func() error { return leader.said("Caches filled") })
	standby := c.start()
	eventually(t, func() error { return standby.said("Caches filled") })
	c.story(never)
	require.Error(t, leader.said("is forbidden: User"), "it asks for nothing beyond its rights")
	n, err := leader.metric("controller_reconcile_total")
	require.NoError(t, err)
	require.NotZero(t, n)
	require.NotContains(t, leader.log.String(), "s3cret")
	leader.terminate()
	c.change(func(s *v1.CloudManagerSpec) { s.Front.Deployment.Name = "portal2" })
	eventually(t, c.runs)
	require.NoError(t, c.gone(&appsv1.Deployment{}, "portal"))
}

// A right whose absence nobody notices would be one too many.
func TestCloudManager_EachRightIsNeededAndNamedWhenItIsMissing(t *testing.T) {
	t.Parallel()
	onSharedPlane(t) // or skip
	seen := 0
	for _, object := range manifestsOf(t, manifests.CloudManager, "any", nil) {
		if object.GetKind() != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role))
		for _, rule := range role.Rules {
			require.Len(t, rule.Resources, 1)
			for _, verb := range rule.Verbs {
				if verb == "watch" && slices.Contains(rule.Verbs, "list") {
					continue // a list is tried before: without both rights the error names the list
				}
				seen++
				t.Run(verb+" "+rule.Resources[0], func(t *testing.T) {
					t.Parallel()
					requireNeeded(t, rule.Resources[0], verb)
				})
			}
		}
	}
	require.Greater(t, seen, 15)
}

func requireNeeded(t *testing.T, resource, verb string) {
	c := onCloudManager(t, func(r, v string) bool { return r == resource && (v == verb || verb == "list" && v == "watch") })
	p := c.start()
	refusal := fmt.Sprintf("cannot %s resource %q", verb, resource)
	if strings.HasSuffix(resource, "/finalizers") {
		refusal = "cannot set blockOwnerDeletion"
	}
	require.True(t, c.story(func() error { return p.said(refusal) }), "nothing is refused without it")
	require.True(t, p.alive())
}
