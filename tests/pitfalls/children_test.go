package pitfalls

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"glasswatch/internal/apiserver/apiservertest"
)

// Two custom resources name the same Deployment, and the operator updates whatever has the name.
//
// Why: each takes the Deployment over and gives it its own image. The event of the change wakes the other one, which
// takes it back. The Pods are replaced without an end.
//
// You see: generations of the Deployment after a minute: want at most 3, got more than 15
//
// Instead: check metav1.IsControlledBy before each write. Leave what belongs to another one alone and say so in the
// status, without an error: a retry would not help. (controller-runtime's SetControllerReference returns an
// AlreadyOwnedError, which is to be handled in the same way.)
func TestPitfall_TwoOwnersOfOneDeployment(t *testing.T) {
	naive := func(_ *corev1.ConfigMap, _ *appsv1.Deployment, update func() error, _ func(string) error) error {
		return update()
	}
	right := func(cr *corev1.ConfigMap, live *appsv1.Deployment, update func() error, say func(string) error) error {
		if !metav1.IsControlledBy(live, cr) {
			return say("the Deployment belongs to another one")
		}
		return update()
	}
	type half = func(*corev1.ConfigMap, *appsv1.Deployment, func() error, func(string) error) error
	property := func(t *testing.T, keep half) error {
		c := startCluster(t)
		c.Deploy("nginx:1.20")
		c.Put("other", "nginx:1.21")
		c.Faults().Delay(100 * time.Millisecond)
		c.operate(watchDeployments, func(ctx context.Context, name string) (bool, error) {
			cr, err := c.Get(ctx, name)
			if err != nil {
				return false, err
			}
			live, err := c.Deployments().Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			return false, keep(cr, live, func() error {
				want := deploymentOf(cr, live.Name)
				if live.Spec.Template.Spec.Containers[0].Image == want.Spec.Template.Spec.Containers[0].Image {
					return nil
				}
				_, err := c.Deployments().Update(ctx, want, metav1.UpdateOptions{})
				return err
			}, func(phase string) error { return setPhase(ctx, c.Client, cr, phase) })
		})
		apiservertest.Pass(time.Minute)
		live, err := c.Deployments().Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		return few(t, "generations of the Deployment after a minute", live.Generation)
	}
	contrast(t, property, naive, right)
}

// A field of a StatefulSet that cannot change differs, and the operator tries to update it.
//
// Why: the server refuses it (422 Invalid) today and tomorrow. The queue tries again for ever, each time with an error
// in the log, and the owner of the custom resource sees nothing. Here the claims were to become larger.
//
// You see: passes in an hour: want at most 3, got more than 15
//
// Instead: an Invalid will not pass by itself. Write it into a condition of the status and return no error. The next
// change of the custom resource wakes the operator.
func TestPitfall_RetryingWhatCannotChange(t *testing.T) {
	naive := func(update func() error, _ func(phase string) error) error {
		return update()
	}
	right := func(update func() error, say func(phase string) error) error {
		err := update()
		if apierrors.IsInvalid(err) {
			return say("the StatefulSet cannot be changed so")
		}
		return err
	}
	property := func(t *testing.T, reconcile func(update func() error, say func(phase string) error) error) error {
		c := startCluster(t)
		sets := c.Client.AppsV1().StatefulSets("default")
		_, err := sets.Create(t.Context(), databaseOf(c.Put("web", "1Gi")), metav1.CreateOptions{})
		require.NoError(t, err)
		c.Put("web", "2Gi")
		passes := c.operate(watchDeployments, func(ctx context.Context, name string) (bool, error) {
			cr, err := c.Get(ctx, name)
			if err != nil {
				return false, err
			}
			return false, reconcile(func() error {
				_, err := sets.Update(ctx, databaseOf(cr), metav1.UpdateOptions{})
				return err
			}, func(phase string) error { return setPhase(ctx, c.Client, cr, phase) })
		})
		apiservertest.Pass(time.Hour)
		if err := few(t, "passes in an hour", passes.Load()); err != nil {
			return err
		}
		cr, err := c.Get(t.Context(), "web")
		require.NoError(t, err)
		require.Equal(t, "the StatefulSet cannot be changed so", cr.Data["phase"])
		return nil
	}
	contrast(t, property, naive, right)
}

// A custom resource has a password in its spec, and the operator copies it into the environment of the Pods.
//
// Why: rights to Secrets are given to few, and those to custom resources, StatefulSets and Pods to many. The password
// is also in audit logs and in Git, where the manifest is, and kubectl apply keeps a copy in an annotation.
//
// You see: where hunter2 can be read without a right to Secrets: want [], got [ConfigMaps, StatefulSets]
//
// Instead: let the spec name a Secret, or generate one. The Pods get it by secretKeyRef.
func TestPitfall_APasswordInTheSpec(t *testing.T) {
	const key = "MARIADB_ROOT_PASSWORD"
	naive := func(password string) (secret map[string]string, spec map[string]string, env corev1.EnvVar) {
		return nil, map[string]string{"rootPass": password}, corev1.EnvVar{Name: key, Value: password}
	}
	right := func(password string) (secret map[string]string, spec map[string]string, env corev1.EnvVar) {
		ref := &corev1.SecretKeySelector{Key: "password"}
		ref.Name = "root"
		return map[string]string{"password": password}, map[string]string{"rootPasswordSecretRef": "root"},
			corev1.EnvVar{Name: key, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: ref}}
	}
	type half = func(password string) (secret map[string]string, spec map[string]string, env corev1.EnvVar)
	property := func(t *testing.T, hand half) error {
		c := startCluster(t)
		secret, spec, env := hand("hunter2")
		_, err := c.Client.CoreV1().Secrets("default").Create(t.Context(),
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "root"}, StringData: secret}, metav1.CreateOptions{})
		require.NoError(t, err)
		cr := c.Put("web", "1Gi")
		maps.Copy(cr.Data, spec)
		_, err = c.Client.CoreV1().ConfigMaps("default").Update(t.Context(), cr, metav1.UpdateOptions{})
		require.NoError(t, err)
		set := databaseOf(cr)
		set.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{env}
		_, err = c.Client.AppsV1().StatefulSets("default").Create(t.Context(), set, metav1.CreateOptions{})
		require.NoError(t, err)

		var leaks []string
		look := func(what string, list any, err error) {
			require.NoError(t, err)
			text, err := json.Marshal(list)
			require.NoError(t, err)
			if strings.Contains(string(text), "hunter2") {
				leaks = append(leaks, what)
			}
		}
		crs, err := c.Client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		look("ConfigMaps", crs, err)
		sets, err := c.Client.AppsV1().StatefulSets("default").List(t.Context(), metav1.ListOptions{})
		look("StatefulSets", sets, err)
		return unlike("where hunter2 can be read without a right to Secrets", []string{}, leaks)
	}
	contrast(t, property, naive, right)
}

// A StatefulSet has a claim template, and no container mounts it.
//
// Why: each Pod gets its claim, and the claim a disk. But the database writes into its container, and what is there
// ends with the Pod. Claims are bound and Pods are ready, so nothing looks wrong until a Pod is replaced.
//
// You see: claims that hold /var/lib/mysql: want [datadir], got []
//
// Instead: mount the claim, by the name of its template, where the image keeps its data. Test it: write, delete the
// Pod, read.
func TestPitfall_AClaimThatIsNotMounted(t *testing.T) {
	naive := func(spec *appsv1.StatefulSetSpec) {
		spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("datadir", "1Gi")}
	}
	right := func(spec *appsv1.StatefulSetSpec) {
		spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("datadir", "1Gi")}
		main := &spec.Template.Spec.Containers[0]
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: "datadir", MountPath: "/var/lib/mysql"})
	}
	property := func(t *testing.T, store func(*appsv1.StatefulSetSpec)) error {
		c := startCluster(t)
		set := databaseOf(c.Put("web", "1Gi"))
		set.Spec.VolumeClaimTemplates = nil
		store(&set.Spec)
		set, err := c.Client.AppsV1().StatefulSets("default").Create(t.Context(), set, metav1.CreateOptions{})
		require.NoError(t, err)
		var held []string
		for _, template := range set.Spec.VolumeClaimTemplates {
			for _, mount := range set.Spec.Template.Spec.Containers[0].VolumeMounts {
				if mount.Name == template.Name && mount.MountPath == "/var/lib/mysql" {
					held = append(held, template.Name)
				}
			}
		}
		return unlike("claims that hold /var/lib/mysql", []string{"datadir"}, held)
	}
	contrast(t, property, naive, right)
}

// A StatefulSet has no serviceName, and there is no Service.
//
// Why: both are optional for the server. But a Pod gets a name in DNS only as part of a headless Service that the
// StatefulSet names. Without it replicas do not find each other, and clients have only addresses that change. The
// serviceName cannot be added later.
//
// You see: web-0.web.default.svc: no such host
//
// Instead: first make a headless Service (clusterIP: None) whose selector matches the Pods. Name it in serviceName.
func TestPitfall_AStatefulSetWithoutItsService(t *testing.T) {
	naive := func(set *appsv1.StatefulSet) (services []corev1.Service) {
		return nil
	}
	right := func(set *appsv1.StatefulSet) (services []corev1.Service) {
		set.Spec.ServiceName = set.Name
		return []corev1.Service{{
			ObjectMeta: metav1.ObjectMeta{Name: set.Name, OwnerReferences: set.OwnerReferences},
			Spec: corev1.ServiceSpec{
				ClusterIP: corev1.ClusterIPNone,
				Selector:  set.Spec.Selector.MatchLabels,
				Ports:     []corev1.ServicePort{{Name: "mysql", Port: 3306}},
			},
		}}
	}
	property := func(t *testing.T, serve func(*appsv1.StatefulSet) []corev1.Service) error {
		c := startCluster(t)
		set := databaseOf(c.Put("web", "1Gi"))
		for _, service := range serve(set) {
			_, err := c.Client.CoreV1().Services("default").Create(t.Context(), &service, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		set, err := c.Client.AppsV1().StatefulSets("default").Create(t.Context(), set, metav1.CreateOptions{})
		require.NoError(t, err)
		service, err := c.Client.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
		pod := labels.Set(set.Spec.Template.Labels)
		if err != nil || set.Spec.ServiceName != service.Name || service.Spec.ClusterIP != corev1.ClusterIPNone ||
			!labels.SelectorFromSet(service.Spec.Selector).Matches(pod) {
			return errors.New("web-0.web.default.svc: no such host")
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// The claims of a database are owned by the custom resource.
//
// Why: the garbage collector deletes what belongs to an owner that is gone, and with the claim goes the volume. One
// kubectl delete of the custom resource, perhaps in order to install it anew, and the data are lost.
//
// You see: claims after the custom resource was deleted: want [datadir-web-0], got []
//
// Instead: give claims no owner, choose persistentVolumeClaimRetentionPolicy, and document the choice. Retain keeps the
// claims until a person deletes them. With Delete they go with the StatefulSet, and so with the custom resource.
func TestPitfall_ClaimsThatGoWithTheCustomResource(t *testing.T) {
	naive := func(cr *corev1.ConfigMap, spec *appsv1.StatefulSetSpec) {
		datadir := claim("datadir", "1Gi")
		datadir.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cr, ownerKind)}
		spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{datadir}
	}
	right := func(_ *corev1.ConfigMap, spec *appsv1.StatefulSetSpec) {
		spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim("datadir", "1Gi")}
		spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
			WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
		}
	}
	property := func(t *testing.T, store func(*corev1.ConfigMap, *appsv1.StatefulSetSpec)) error {
		c := startCluster(t)
		cr := c.Put("web", "1Gi")
		set := databaseOf(cr)
		store(cr, &set.Spec)
		set, err := c.Client.AppsV1().StatefulSets("default").Create(t.Context(), set, metav1.CreateOptions{})
		require.NoError(t, err)
		claims := c.Client.CoreV1().PersistentVolumeClaims("default")
		first := set.Spec.VolumeClaimTemplates[0]
		first.Name = "datadir-web-0"
		if policy := set.Spec.PersistentVolumeClaimRetentionPolicy; policy != nil && policy.WhenDeleted == "Delete" {
			kind := appsv1.SchemeGroupVersion.WithKind("StatefulSet")
			first.OwnerReferences = append(first.OwnerReferences, *metav1.NewControllerRef(set, kind))
		}
		_, err = claims.Create(t.Context(), &first, metav1.CreateOptions{}) // as the StatefulSet controller does
		require.NoError(t, err)
		apiservertest.Pass(time.Minute)
		c.Delete("web")
		apiservertest.Pass(time.Minute)
		list, err := claims.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		var left []string
		for _, claim := range list.Items {
			left = append(left, claim.Name)
		}
		return unlike("claims after the custom resource was deleted", []string{"datadir-web-0"}, left)
	}
	contrast(t, property, naive, right)
}
