package manifests

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestInformerAPI_HangsTogetherAndReadsWhatItNamesOnly(t *testing.T) {
	objects := typed(t, InformerAPI)
	deployment, service := only[*appsv1.Deployment](t, objects), only[*corev1.Service](t, objects)
	pod := deployment.Spec.Template
	require.Equal(t, only[*corev1.ServiceAccount](t, objects).Name, pod.Spec.ServiceAccountName)
	require.Subset(t, pod.Labels, service.Spec.Selector)
	require.Subset(t, pod.Labels, deployment.Spec.Selector.MatchLabels)
	container := pod.Spec.Containers[0]
	require.Equal(t, container.Ports[0].Name, service.Spec.Ports[0].TargetPort.String())
	require.True(t, *pod.Spec.SecurityContext.RunAsNonRoot)
	require.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
	require.False(t, *container.SecurityContext.AllowPrivilegeEscalation)

	role, binding := only[*rbacv1.ClusterRole](t, objects), only[*rbacv1.ClusterRoleBinding](t, objects)
	require.Equal(t, role.Name, binding.RoleRef.Name)
	subject := rbacv1.Subject{Kind: "ServiceAccount", Name: "informer-api", Namespace: Namespace}
	require.Equal(t, []rbacv1.Subject{subject}, binding.Subjects)
	for _, rule := range role.Rules {
		require.NotContains(t, rule.Resources, "secrets")
		for _, all := range [][]string{rule.Verbs, rule.Resources, rule.APIGroups} {
			require.NotContains(t, all, "*")
		}
		if rule.Verbs[0] != "create" {
			require.Equal(t, []string{"list", "watch"}, rule.Verbs)
		}
	}
}
