package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestPods_NamesAddressesTokensAndContainersAreUnique(t *testing.T) {
	const n = 20_000
	seen := map[string]int{}
	specs, spaces := map[string]bool{}, map[string]bool{}
	for i := range n {
		pod := podAt(i, "owner")
		pod.Status = statusAt(i)
		for _, unique := range []string{
			pod.Name, pod.Status.PodIP, pod.Spec.Volumes[0].Name, pod.Status.ContainerStatuses[0].ContainerID, pod.Status.ContainerStatuses[1].ContainerID,
		} {
			other, taken := seen[unique]
			require.False(t, taken, "pods %d and %d have %s", other, i, unique)
			seen[unique] = i
		}
		require.Empty(t, validation.IsDNS1123Subdomain(pod.Name))
		specs[pod.Labels["pod-template-hash"]], spaces[pod.Namespace] = true, true
	}
	require.Len(t, specs, templates)
	require.Len(t, spaces, namespaces)
}

func TestPods_OfATemplateDifferInNodeAndTokenOnly(t *testing.T) {
	a, b := podAt(3, "owner"), podAt(3+templates, "owner")
	require.NotEqual(t, a.Spec, b.Spec)
	same := func(pod *corev1.Pod) *corev1.Pod {
		pod.Name, pod.Spec.NodeName, pod.Spec.Volumes[0].Name = "", "", ""
		for i := range pod.Spec.Containers {
			mounts := pod.Spec.Containers[i].VolumeMounts
			mounts[len(mounts)-1].Name = ""
		}
		return pod
	}
	require.Equal(t, same(a), same(b))
	require.NotEqual(t, a.Labels, podAt(4, "owner").Labels)
}

func TestPods_BelongToTheReplicaSetThatTheyName(t *testing.T) {
	for i := range 3 * templates {
		pod, set := podAt(i, "owner"), replicaSetAt(i%templates)
		require.Equal(t, set.Namespace, pod.Namespace)
		require.Equal(t, set.Name, pod.OwnerReferences[0].Name)
		require.Equal(t, set.Spec.Selector.MatchLabels, pod.Labels)
	}
}

// Defaults and managedFields, which the server adds, are larger than that: see TestFill_LeavesPodsOfThreeWriters.
func TestPods_AreSentWithTwoKilobytesOfSpecAndOneOfStatus(t *testing.T) {
	pod := podAt(1, "0c0ffee0-0000-4000-8000-000000000000")
	spec := pod.Size()
	pod.Status = statusAt(1)
	require.InDelta(t, 2150, spec, 200)
	require.InDelta(t, 1000, pod.Size()-spec, 200)
	require.Len(t, pod.Spec.Containers, 2)
	require.Len(t, pod.Annotations[sentAt], sentAtLength)
}
