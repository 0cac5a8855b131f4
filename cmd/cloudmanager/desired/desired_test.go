package desired

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sample() *v1.CloudManager {
	cm := Example("cloud")
	cm.Namespace, cm.UID, cm.Generation = "shop", "u1", 2
	return cm
}

// What others add stays; what is owned comes back; a second Set changes nothing.
func TestSet_CorrectsOwnedFieldsAndLeavesTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cm := sample()
		front := Stages(cm)[0].Children[0]
		d := front.Object.(*appsv1.Deployment)
		front.Set(d)
		d.UID, d.Labels = "x", map[string]string{"team": "a"}
		d.Spec.Replicas = new(rapid.Int32Range(0, 9).Draw(t, "replicas"))
		have := d.Spec.Template.Spec.Containers[0]
		have.Image, have.ImagePullPolicy = rapid.StringMatching("[a-z]{1,5}").Draw(t, "image"), corev1.PullAlways
		pod := rapid.Permutation([]corev1.Container{have, {Name: "sidecar", Image: "envoy"}}).Draw(t, "containers")
		d.Spec.Template.Spec.Containers = pod
		want := d.DeepCopy()
		for i := range pod {
			if pod[i].Name == "main" {
				want.Spec.Template.Spec.Containers[i].Image = "nginx:1.20"
			}
		}
		maps.Copy(want.Labels, labelsOf(cm, "ake-front"))
		front.Set(d)
		assert.True(t, equality.Semantic.DeepEqual(want, d))
		front.Set(d)
		assert.True(t, equality.Semantic.DeepEqual(want, d))
	})
}

func TestOpen_WantsMoreThanHalfForTheObservedGeneration(t *testing.T) {
	for _, tt := range []struct {
		replicas, ready      int32
		generation, observed int64
		open                 bool
	}{
		{1, 0, 1, 1, false}, {1, 1, 1, 1, true}, {0, 0, 2, 1, true}, {2, 1, 1, 1, false}, {2, 2, 1, 1, true},
		{3, 1, 1, 1, false}, {3, 2, 1, 1, true}, {3, 3, 2, 1, false},
	} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", Generation: tt.generation}}
		d.Spec.Replicas, d.Status.ReadyReplicas, d.Status.ObservedGeneration = &tt.replicas, tt.ready, tt.observed
		open, why := Open(d)
		assert.Equal(t, tt.open, open, "%+v", tt)
		assert.Equal(t, tt.open, why == "", "%+v", tt)
	}
}

func TestUnchangeable_NamesTheStorageFields(t *testing.T) {
	cm := sample()
	child := Stages(cm)[3].Children[1]
	s := child.Object.(*appsv1.StatefulSet)
	child.Set(s)
	assert.Empty(t, Unchangeable(cm, s))
	s.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = new("fast") // the spec had it, and lost it
	assert.Contains(t, Unchangeable(cm, s)[0].Message, "change storage.class;")
	cm.Spec.DB.StatefulSet.Storage = v1.Storage{Class: new("slow"), Size: resource.MustParse("2Gi"),
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}}
	assert.Contains(t, Unchangeable(cm, s)[0].Message, "change storage.class, storage.accessModes, storage.size;")
}

func TestValidate_NeverTellsThePassword(t *testing.T) {
	cm := sample()
	cm.Name = strings.Repeat("n", 59)
	require.NoError(t, Validate(cm))
	cm.Name, cm.Spec.DB.StatefulSet.Name = cm.Name+"n", "ake-front"
	cm.Spec.DB.RootPass, cm.Spec.DB.RootPasswordSecretRef = "s3cret", &v1.SecretKeyRef{Name: "mine"}
	err := Validate(cm)
	for _, field := range []string{"metadata.name", "three different names", "rootPasswordSecretRef"} {
		require.ErrorContains(t, err, field)
	}
	assert.NotContains(t, err.Error(), "s3cret")
}

func TestStatus_TellsEachProblemOnce(t *testing.T) {
	cm := sample()
	refused := Rejected("deployment", "d", errors.New("no"+strings.Repeat("é", 9999)))
	f := Finding{Problems: []Problem{{ReasonUnchangeable, "storage.size"}}}.Stop(refused)
	status := Status(cm, f)
	assert.Equal(t, v1.PhaseBlocked, status.Phase)
	c := meta.FindStatusCondition(status.Conditions, v1.ConditionReconciled)
	assert.Equal(t, ReasonUnchangeable, c.Reason)
	assert.Contains(t, c.Message, `storage.size; deployment "d": no`)
	assert.True(t, len(c.Message) <= 1024 && utf8.ValidString(c.Message), c.Message)
	assert.Equal(t, `secret "s": BadRequest`, Rejected("secret", "s", apierrors.NewBadRequest("s3cret")).Message)
	_, ok := Warning(cm.Status, status)
	assert.True(t, ok)
	_, ok = Warning(status, status)
	assert.False(t, ok)
}
