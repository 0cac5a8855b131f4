package desired

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sample() *v1.CloudManager {
	cm := &v1.CloudManager{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cloud", UID: "u1", Generation: 2}}
	cm.Spec.Front.Deployment = v1.Workload{Name: "ake-front", Image: "nginx:1.20"}
	cm.Spec.Identity.Deployment = v1.Workload{Name: "cm-identity", Image: "busybox:1.32.1"}
	cm.Spec.DB.StatefulSet = v1.StatefulWorkload{Name: "cm-db", Image: "mariadb:10.6", Storage: v1.Storage{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Size: resource.MustParse("1Gi")}}
	return cm
}

// made returns the children as Set makes them, by kind and name.
func made(cm *v1.CloudManager) map[string]Object {
	all := map[string]Object{}
	for _, stage := range Stages(cm) {
		for _, c := range stage.Children {
			obj := c.Object
			c.Set(obj)
			all[c.Kind+"/"+obj.GetName()] = obj
		}
	}
	return all
}

func TestStages_AreInOrderAndTheDatabaseIsUsable(t *testing.T) {
	cm := sample()
	var names []string
	for _, s := range Stages(cm) {
		names = append(names, s.Name)
	}
	assert.Equal(t, []string{"Front", "Identity", "Secret", "Database"}, names)

	all := made(cm)
	require.Len(t, all, 5)
	for name, obj := range all {
		_, isSecret := obj.(*corev1.Secret)
		assert.Equal(t, !isSecret, metav1.IsControlledBy(obj, cm), name)
		assert.Equal(t, Ours, Relate(cm, obj), name)
	}
	sts := all["statefulset/cm-db"].(*appsv1.StatefulSet)
	c := sts.Spec.Template.Spec.Containers[0]
	assert.Equal(t, []corev1.VolumeMount{{Name: "datadir", MountPath: "/var/lib/mysql"}}, c.VolumeMounts)
	assert.Equal(t, "cloudauth", c.Env[0].ValueFrom.SecretKeyRef.Name)
	service := all["service/cm-db"].(*corev1.Service)
	assert.Equal(t, service.Name, sts.Spec.ServiceName)
	assert.Equal(t, sts.Spec.Selector.MatchLabels, service.Spec.Selector)
	assert.Equal(t, "datadir", sts.Spec.VolumeClaimTemplates[0].Name)
	assert.Equal(t, appsv1.RetainPersistentVolumeClaimRetentionPolicyType, sts.Spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted)
	assert.Equal(t, []string{"sleep", "60m"}, all["deployment/cm-identity"].(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Command)
}

func TestSecret_HoldsThePasswordOfTheSpecOrOneThatIsMadeOnce(t *testing.T) {
	cm := sample()
	first := made(cm)["secret/cloudauth"].(*corev1.Secret)
	assert.GreaterOrEqual(t, len(first.Data[PasswordKey]), 20)
	again := first.DeepCopy()
	again.UID = "s1"
	secret(cm).Set(again)
	assert.Equal(t, first.Data, again.Data, "kept")

	cm.Spec.DB.RootPass = "in the open"
	secret(cm).Set(again)
	assert.Equal(t, "in the open", string(again.Data[PasswordKey]))

	cm.Spec.DB.RootPass, cm.Spec.DB.RootPasswordSecretRef = "", &v1.SecretKeyRef{Name: "mine", Key: "root"}
	all := made(cm)
	assert.Len(t, all, 4)
	from := all["statefulset/cm-db"].(*appsv1.StatefulSet).Spec.Template.Spec.Containers[0].Env[0].ValueFrom.SecretKeyRef
	assert.Equal(t, "mine/root", from.Name+"/"+from.Key)
}

// What an admission plugin, an autoscaler or a person adds stays; what is owned comes back; a second Set changes nothing.
func TestSet_CorrectsOwnedFieldsAndLeavesTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cm := sample()
		for name, obj := range made(cm) {
			obj.SetUID("x")
			obj.SetLabels(map[string]string{"team": rapid.StringMatching("[a-z]{1,5}").Draw(t, "team")})
			labels := obj.GetLabels()["team"]
			if d, ok := obj.(*appsv1.Deployment); ok {
				d.Spec.Replicas = ptr.To(rapid.Int32Range(0, 9).Draw(t, "replicas"))
				sidecar := corev1.Container{Name: "sidecar", Image: "envoy"}
				c := append([]corev1.Container{sidecar}, d.Spec.Template.Spec.Containers...)
				if rapid.Bool().Draw(t, "other image") {
					c[1].Image = rapid.StringMatching("[a-z]{1,5}").Draw(t, "image")
				}
				c[1].ImagePullPolicy = corev1.PullAlways
				d.Spec.Template.Spec.Containers = c
			}
			c := childNamed(cm, name)
			before := obj.DeepCopyObject().(Object)
			c.Set(obj)
			assert.Equal(t, labels, obj.GetLabels()["team"])
			assert.Equal(t, Ours, Relate(cm, obj))
			if d, ok := obj.(*appsv1.Deployment); ok {
				assert.Equal(t, before.(*appsv1.Deployment).Spec.Replicas, d.Spec.Replicas)
				require.Len(t, d.Spec.Template.Spec.Containers, 2)
				assert.Equal(t, "envoy", d.Spec.Template.Spec.Containers[0].Image)
				assert.Contains(t, []string{"nginx:1.20", "busybox:1.32.1"}, d.Spec.Template.Spec.Containers[1].Image)
				assert.Equal(t, corev1.PullAlways, d.Spec.Template.Spec.Containers[1].ImagePullPolicy)
			}
			once := obj.DeepCopyObject()
			c.Set(obj)
			assert.True(t, equality.Semantic.DeepEqual(once, obj), name)
		}
	})
}

func childNamed(cm *v1.CloudManager, name string) Child {
	for _, s := range Stages(cm) {
		for _, c := range s.Children {
			if c.Kind+"/"+c.Object.GetName() == name {
				return c
			}
		}
	}
	panic(name)
}

func TestOpen_WantsMoreThanHalfForTheObservedGeneration(t *testing.T) {
	for _, tt := range []struct {
		replicas             *int32
		ready                int32
		generation, observed int64
		open                 bool
	}{
		{nil, 0, 1, 1, false}, {nil, 1, 1, 1, true},
		{ptr.To[int32](0), 0, 2, 1, true},
		{ptr.To[int32](2), 1, 1, 1, false}, {ptr.To[int32](2), 2, 1, 1, true},
		{ptr.To[int32](3), 1, 1, 1, false}, {ptr.To[int32](3), 2, 1, 1, true},
		{ptr.To[int32](3), 3, 2, 1, false},
	} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", Generation: tt.generation}}
		d.Spec.Replicas, d.Status.ReadyReplicas, d.Status.ObservedGeneration = tt.replicas, tt.ready, tt.observed
		s := &appsv1.StatefulSet{ObjectMeta: d.ObjectMeta}
		s.Spec.Replicas, s.Status.ReadyReplicas, s.Status.ObservedGeneration = tt.replicas, tt.ready, tt.observed
		for _, obj := range []Object{d, s} {
			open, why := Open(obj)
			assert.Equal(t, tt.open, open, "%+v", tt)
			assert.Equal(t, tt.open, why == "", "%+v", tt)
		}
	}
	open, _ := Open(&corev1.Service{})
	assert.True(t, open)
}

func TestRelate_KnowsTheForeignAndTheEarlierOne(t *testing.T) {
	cm := sample()
	other, earlier := sample(), sample()
	other.Name, other.UID, earlier.UID = "other", "u2", "u0"
	assert.Equal(t, Foreign, Relate(cm, &appsv1.Deployment{}))
	assert.Equal(t, Foreign, Relate(cm, made(other)["deployment/ake-front"]))
	assert.Equal(t, Predecessor, Relate(cm, made(earlier)["deployment/ake-front"]))
	assert.Equal(t, Ours, Relate(cm, made(earlier)["secret/cloudauth"]), "the password is taken up again")
	assert.Equal(t, Foreign, Relate(cm, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudauth"}}))
	assert.Equal(t, []string{"deployment/ake-front", "deployment/cm-identity", "secret/cloudauth", "service/cm-db", "statefulset/cm-db"}, Names(cm))
}

func TestUnchangeable_NamesTheStorageFields(t *testing.T) {
	cm := sample()
	s := made(cm)["statefulset/cm-db"].(*appsv1.StatefulSet)
	assert.Empty(t, Unchangeable(cm, s))
	s.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = ptr.To("standard") // the default, by admission
	assert.Empty(t, Unchangeable(cm, s))
	cm.Spec.DB.StatefulSet.Storage = v1.Storage{Class: ptr.To("fast"), Size: resource.MustParse("2Gi")}
	assert.Equal(t, []string{"storage.class", "storage.accessModes", "storage.size"}, Unchangeable(cm, s))
}

func TestValidate_NeverTellsThePassword(t *testing.T) {
	cm := sample()
	require.NoError(t, Validate(cm))
	cm.Name = strings.Repeat("n", 64)
	cm.Spec.Identity.Deployment.Name = "ake-front"
	cm.Spec.DB.RootPass, cm.Spec.DB.RootPasswordSecretRef = "s3cret", &v1.SecretKeyRef{Name: "mine"}
	err := Validate(cm)
	for _, field := range []string{"metadata.name", "spec.identity.deployment.name", "rootPasswordSecretRef"} {
		require.ErrorContains(t, err, field)
	}
	assert.NotContains(t, err.Error(), "s3cret")
}

func TestStatus_TellsPhaseConditionsAndEachProblemOnce(t *testing.T) {
	cm := sample()
	exists, gate := Exists("deployment", "ake-front"), NotReady("Front", "0 of 1")
	unchangeable := CannotChange("cm-db", []string{"storage.size"})
	for _, tt := range []struct {
		finding            Finding
		phase, ready, done string
	}{
		{Finding{}, "Running", "True AllReady", "True AsAsked"},
		{Finding{Closed: &gate}, "Creating", "False FrontNotReady", "True AsAsked"},
		{Finding{Closed: &exists, Problems: []Problem{exists}}, "Blocked", "False ErrResourceExists", "False ErrResourceExists"},
		{Finding{Problems: []Problem{unchangeable}}, "Running", "True AllReady", "False FieldUnchangeable"},
		{Finding{Closed: &exists, Problems: []Problem{Invalid(errors.New("no")), exists}}, "Blocked", "False ErrResourceExists", "False InvalidSpec"},
	} {
		status := Status(cm, tt.finding)
		assert.Equal(t, tt.phase, string(status.Phase))
		assert.EqualValues(t, 2, status.ObservedGeneration)
		var got []string
		for _, c := range status.Conditions {
			assert.EqualValues(t, 2, c.ObservedGeneration)
			got = append(got, fmt.Sprintf("%s %s", c.Status, c.Reason))
		}
		assert.Equal(t, []string{tt.ready, tt.done}, got)
		warning, ok := Warning(cm.Status, status)
		assert.Equal(t, len(tt.finding.Problems) > 0, ok)
		if ok {
			assert.Equal(t, tt.finding.Problems[0].Reason, warning.Reason)
		}
		again := cm.DeepCopy()
		again.Status = status
		assert.Equal(t, status, Status(again, tt.finding), "a second pass changes nothing")
		_, ok = Warning(status, status)
		assert.False(t, ok, "and reports nothing")
	}
}
