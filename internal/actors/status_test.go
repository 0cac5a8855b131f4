package actors

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDeploymentStatus_TimesOfConditionsStayIfNothingChanges(t *testing.T) {
	minute := func(n int) metav1.Time { return metav1.NewTime(time.Unix(int64(60*n), 0)) }
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Strategy: appsv1.DeploymentStrategy{Type: "Recreate"}}}
	times := func(name appsv1.DeploymentConditionType) [2]metav1.Time {
		for _, c := range d.Status.Conditions {
			if c.Type == name {
				return [2]metav1.Time{c.LastUpdateTime, c.LastTransitionTime}
			}
		}
		return [2]metav1.Time{}
	}
	d.Status = deploymentStatus(d, 2, 0, minute(1))
	d.Status = deploymentStatus(d, 2, 1, minute(2))
	require.Equal(t, [2]metav1.Time{minute(1), minute(1)}, times(appsv1.DeploymentAvailable))
	d.Status = deploymentStatus(d, 2, 2, minute(3))
	require.Equal(t, [2]metav1.Time{minute(3), minute(3)}, times(appsv1.DeploymentAvailable))
	require.Equal(t, [2]metav1.Time{minute(3), minute(1)}, times(appsv1.DeploymentProgressing),
		"another reason, and True as before")
	require.Len(t, d.Status.Conditions, 2)
}

// The client is nil, so a request would panic.
func TestSyncClaims_AStatefulSetThatIsBeingDeletedGetsNoMoreClaims(t *testing.T) {
	s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: new(metav1.Now())}}
	s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
	require.NoError(t, new(Workloads).syncClaims(t.Context(), s))
}
