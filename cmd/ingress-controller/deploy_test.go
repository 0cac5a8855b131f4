package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"glasswatch/internal/manifests"
)

// parseDeployed returns the options of the Pods of one way to install.
func parseDeployed(t *testing.T, objects []*unstructured.Unstructured) *options {
	t.Helper()
	var deployment appsv1.Deployment
	decode(t, objects, "Deployment", "ingress-controller", &deployment)
	var args []string
	for _, arg := range deployment.Spec.Template.Spec.Containers[0].Args {
		args = append(args, strings.ReplaceAll(arg, "$(POD_NAMESPACE)", "shop"))
	}
	o, err := parse(args, io.Discard)
	require.NoError(t, err)
	return o
}

func decode(t *testing.T, objects []*unstructured.Unstructured, kind, name string, into any) {
	t.Helper()
	for _, object := range objects {
		if object.GetKind() == kind && object.GetName() == name {
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into))
			return
		}
	}
	t.Fatalf("no %s %s", kind, name)
}

func TestDeploy_ItsFlagsAreOursAndItsLeaseIsTheOneThatItMayWrite(t *testing.T) {
	for way, namespace := range map[string]string{manifests.Cluster: "", manifests.Namespaced: "shop"} {
		objects, err := manifests.Load("../../deploy", way)
		require.NoError(t, err)
		o := parseDeployed(t, objects)
		require.True(t, o.Election.Enabled)
		require.Equal(t, namespace, o.Namespace)
		require.Equal(t, []string{":8080", ":8081"}, []string{o.MetricsAddr, o.HealthAddr})

		var role rbacv1.Role
		decode(t, objects, "Role", "ingress-controller-lease", &role)
		for _, rule := range role.Rules {
			if rule.Verbs[0] != "create" {
				require.Equal(t, []string{o.Election.Name}, rule.ResourceNames)
			}
		}
	}
}

func TestDeploy_ShardedAllReplicasWork(t *testing.T) {
	objects, err := manifests.Load("../../deploy", manifests.Sharded)
	require.NoError(t, err)
	o := parseDeployed(t, objects)
	require.False(t, o.Election.Enabled)
	require.Equal(t, 256, o.Sharding.Count)
	require.Equal(t, "namespace", o.Sharding.By)
	require.Empty(t, o.Sharding.Identity, "the Pod's name")
}

func TestVersion_IsPrinted(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"--version"}, &out))
	require.Equal(t, version+"\n", out.String())
}
