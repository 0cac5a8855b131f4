package manifests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

const deploy = "../../../deploy"

// typed decodes strictly: a field that the API does not have is an error.
func typed(t *testing.T, way string) []runtime.Object {
	t.Helper()
	objects, err := Load(deploy, way)
	require.NoError(t, err)
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var all []runtime.Object
	for _, object := range objects {
		raw, err := object.MarshalJSON()
		require.NoError(t, err)
		decoded, _, err := decoder.Decode(raw, nil, nil)
		require.NoError(t, err, "%s %s", object.GetKind(), object.GetName())
		all = append(all, decoded)
	}
	return all
}

func only[T runtime.Object](t *testing.T, objects []runtime.Object) T {
	t.Helper()
	var found []T
	for _, object := range objects {
		if one, ok := object.(T); ok {
			found = append(found, one)
		}
	}
	require.Len(t, found, 1)
	return found[0]
}

func TestManifests_DecodeStrictlyAndHangTogether(t *testing.T) {
	for _, way := range []string{Cluster, Namespaced, Sharded} {
		t.Run(way, func(t *testing.T) {
			objects := typed(t, way)
			account := only[*corev1.ServiceAccount](t, objects)
			deployment := only[*appsv1.Deployment](t, objects)
			if way != Namespaced {
				require.Equal(t, Namespace, only[*corev1.Namespace](t, objects).Name)
				require.IsType(t, &corev1.Namespace{}, objects[0], "it is applied before what is in it")
			}
			require.Equal(t, account.Name, deployment.Spec.Template.Spec.ServiceAccountName)
			require.Equal(t, deployment.Spec.Selector.MatchLabels, only[*policyv1.PodDisruptionBudget](t, objects).Spec.Selector.MatchLabels)
			require.Subset(t, deployment.Spec.Template.Labels, deployment.Spec.Selector.MatchLabels)

			granted := map[string]bool{}
			for _, object := range objects {
				switch o := object.(type) {
				case *rbacv1.Role:
					granted["Role "+o.Name] = true
				case *rbacv1.ClusterRole:
					granted["ClusterRole "+o.Name] = true
				}
			}
			for _, object := range objects {
				var ref rbacv1.RoleRef
				var subjects []rbacv1.Subject
				switch o := object.(type) {
				case *rbacv1.RoleBinding:
					ref, subjects = o.RoleRef, o.Subjects
				case *rbacv1.ClusterRoleBinding:
					ref, subjects = o.RoleRef, o.Subjects
				default:
					continue
				}
				require.True(t, granted[ref.Kind+" "+ref.Name], "%v", ref)
				delete(granted, ref.Kind+" "+ref.Name)
				require.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: Namespace}}, subjects)
			}
			require.Empty(t, granted, "roles that nobody is bound to")
		})
	}
}

func TestManifests_BothWaysGrantTheSameRightsAndOneOfThemNothingForTheCluster(t *testing.T) {
	inCluster := only[*rbacv1.ClusterRole](t, typed(t, Cluster)).Rules
	var inNamespace []rbacv1.PolicyRule
	for _, object := range typed(t, Namespaced) {
		switch o := object.(type) {
		case *rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding:
			t.Errorf("%T in the namespaced way", o)
		case *rbacv1.Role:
			if o.Name == "ingress-controller" {
				inNamespace = o.Rules
			}
		}
	}
	require.Equal(t, inCluster, inNamespace)
	for _, rule := range inCluster {
		for _, all := range [][]string{rule.Verbs, rule.Resources, rule.APIGroups} {
			require.NotContains(t, all, "*")
		}
	}
}

func TestManifests_ThePodsAreRestricted(t *testing.T) {
	for _, way := range []string{Cluster, Namespaced, Sharded} {
		spec := only[*appsv1.Deployment](t, typed(t, way)).Spec
		require.EqualValues(t, map[string]int32{Cluster: 2, Namespaced: 2, Sharded: 5}[way], *spec.Replicas)
		pod := spec.Template.Spec
		require.True(t, *pod.SecurityContext.RunAsNonRoot)
		require.NotZero(t, *pod.SecurityContext.RunAsUser)
		require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
		require.Greater(t, *pod.TerminationGracePeriodSeconds, int64(5))
		require.Len(t, pod.TopologySpreadConstraints, 1)
		require.Empty(t, pod.Volumes)
		require.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC)
		require.Len(t, pod.Containers, 1)
		container := pod.Containers[0]
		require.False(t, *container.SecurityContext.AllowPrivilegeEscalation)
		require.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
		require.Equal(t, []corev1.Capability{"ALL"}, container.SecurityContext.Capabilities.Drop)
		require.Empty(t, container.SecurityContext.Capabilities.Add)
		for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			require.Contains(t, container.Resources.Requests, resource)
			require.Contains(t, container.Resources.Limits, resource)
		}
		ports := map[string]int32{}
		for _, port := range container.Ports {
			ports[port.Name] = port.ContainerPort
		}
		require.Equal(t, map[string]int32{"metrics": 8080, "health": 8081}, ports)
		for path, probe := range map[string]*corev1.Probe{"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
			require.Equal(t, path, probe.HTTPGet.Path)
			require.Contains(t, ports, probe.HTTPGet.Port.String())
		}
	}
}

// A Namespace among them would be renamed, too. Then kubectl would change somebody's namespace, and delete it.
func TestManifests_MoveToAnotherNamespaceLeavesNoneBehindAndTakesNoneOver(t *testing.T) {
	objects, err := Load(deploy, Namespaced)
	require.NoError(t, err)
	MoveTo(objects, "shop")
	for _, object := range objects {
		raw, err := json.Marshal(object)
		require.NoError(t, err)
		require.NotContains(t, string(raw), `"namespace":"`+Namespace+`"`)
		require.Equal(t, "shop", object.GetNamespace(), "%s", raw)
	}
}

// Shards need all rights on Leases, in the Pods' namespace only, and no other right than one leader needs.
func TestManifests_ShardsNeedLeasesInTheirOwnNamespaceOnly(t *testing.T) {
	roles := map[string]map[string][]rbacv1.PolicyRule{}
	for _, way := range []string{Cluster, Sharded} {
		roles[way] = map[string][]rbacv1.PolicyRule{}
		for _, object := range typed(t, way) {
			switch o := object.(type) {
			case *rbacv1.Role:
				require.Equal(t, Namespace, o.Namespace)
				roles[way][o.Name] = o.Rules
			case *rbacv1.ClusterRole:
				roles[way][o.Name] = o.Rules
			}
		}
	}
	require.Equal(t, []rbacv1.PolicyRule{{
		APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
		Verbs: []string{"get", "list", "watch", "create", "update", "delete"},
	}}, roles[Sharded]["ingress-controller-shards"])
	// Who goes back to one leader applies deploy/cluster, which must not take a right from the replicas with shards.
	delete(roles[Sharded], "ingress-controller-shards")
	require.Equal(t, roles[Cluster], roles[Sharded])
	deployment := only[*appsv1.Deployment](t, typed(t, Sharded))
	args := deployment.Spec.Template.Spec.Containers[0].Args
	require.Contains(t, args, "--shards=256")
	require.Contains(t, args, "--shard-by=namespace")
	require.NotContains(t, args, "--leader-elect")
}

// The kustomization that the README shows, beside a copy of the repository: it adds options, and loses none.
func TestManifests_TheReadmesKustomizationAddsOptions(t *testing.T) {
	readme, err := os.ReadFile(deploy + "/README.md")
	require.NoError(t, err)
	_, block, _ := strings.Cut(string(readme), "```yaml\n")
	block, _, found := strings.Cut(block, "```")
	require.True(t, found)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir+"/glasswatch/deploy", os.DirFS(deploy)))
	require.NoError(t, os.Mkdir(dir+"/mine", 0o700))
	require.NoError(t, os.WriteFile(dir+"/mine/kustomization.yaml", []byte(block), 0o600))
	objects, err := Load(dir, "mine")
	require.NoError(t, err)
	var args []string
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
			require.NoError(t, err)
			args, _, err = unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
			require.NoError(t, err)
		}
	}
	before := only[*appsv1.Deployment](t, typed(t, Cluster)).Spec.Template.Spec.Containers[0].Args
	require.Contains(t, before, "--leader-elect")
	require.Contains(t, before, "--host=example.com", "a default that is not written down is not noticed")
	require.Equal(t, append(before, "--host=apps.example.com", "--ingress-class=nginx"), args)
}

// Every file in deploy/ takes part in one of the ways, so that none rots.
func TestManifests_NoFileIsLeftOut(t *testing.T) {
	files, err := filepath.Glob(deploy + "/*/*.yaml")
	require.NoError(t, err)
	var named strings.Builder
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			named.Write(raw)
		}
	}
	for _, file := range files {
		if base := filepath.Base(file); base != "kustomization.yaml" {
			require.Contains(t, named.String(), base)
		}
	}
}
