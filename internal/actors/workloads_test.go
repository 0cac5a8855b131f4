package actors_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/internal/actors"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/realserver"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	goleak.VerifyTestMain(m)
}

// TestWorkloads plays each story on the API server in memory, in virtual time, and on a real one.
func TestWorkloads(t *testing.T) {
	stories := []struct {
		name string
		play func(w *world)
	}{
		{"a Deployment becomes ready, and says so in its conditions", deploymentBecomesReady},
		{"a held Deployment shows the generation, not more ready replicas", heldDeployment},
		{"a half-ready StatefulSet has started one more", halfReadyStatefulSet},
		{"a StatefulSet's claims stay when it goes", claimsStay},
		{"claims go with the StatefulSet, and with its replicas, if it says so", claimsGo},
	}
	for _, story := range stories {
		t.Run(story.name, func(t *testing.T) {
			apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) {
				story.play(newWorld(t, server.Config, "default"))
			})
		})
	}
	realserver.Run(t, "on a real API server", func(t *testing.T, cfg *rest.Config) {
		for n, story := range stories {
			t.Run(story.name, func(t *testing.T) {
				w := newWorld(t, rest.CopyConfig(cfg), fmt.Sprintf("actors-%d", n))
				namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
				_, err := w.client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
				require.NoError(t, err)
				story.play(w)
			})
		}
	})
}

// Nothing else brings the StatefulSet's key: its own status is right by then.
func TestClaims_AConflictIsRetried(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) {
		w := newWorld(t, server.Config, "default")
		w.createStatefulSet(1, nil)
		w.claims("datadir-db-0")
		w.deleteStatefulSet()
		server.Faults().FailNext(5, apiserver.Failure{Verb: "update", Resource: "persistentvolumeclaims",
			Code: http.StatusConflict})
		s := w.createStatefulSet(1, goWithAll)
		owned := eventually(w, func() (*corev1.PersistentVolumeClaim, error) {
			return w.client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), "datadir-db-0",
				metav1.GetOptions{})
		}, func(claim *corev1.PersistentVolumeClaim) bool { return metav1.IsControlledBy(claim, s) })
		require.Len(t, owned.OwnerReferences, 1)
	})
}

// Claims are deleted by what the cache has of them, so an empty one must not be believed.
func TestClaims_AreDeletedAlsoIfTheyAreListedLate(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) {
		first := newWorld(t, server.Config, "default")
		first.createStatefulSet(2, nil)
		first.claims("datadir-db-0", "datadir-db-1")
		first.statefulSet(func(s *appsv1.StatefulSet) bool { return s.Status.ReadyReplicas == 2 })
		first.stop()
		first.deleteStatefulSet()
		first.createStatefulSet(1, goWithAll)
		for _, verb := range []string{"list", "watch"} {
			server.Faults().FailNext(2, apiserver.Failure{Verb: verb, Resource: "persistentvolumeclaims",
				Code: http.StatusInternalServerError})
		}
		newWorld(t, server.Config, "default").claims("datadir-db-0")
	})
}

func goWithAll(spec *appsv1.StatefulSetSpec) {
	spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: "Delete", WhenScaled: "Delete"}
}

type world struct {
	*testing.T
	client    kubernetes.Interface
	namespace string
	actors    *actors.Workloads
	stop      func()
}

func newWorld(t *testing.T, cfg *rest.Config, namespace string) *world {
	shared, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	t.Cleanup(shared.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(cfg, shared)
	require.NoError(t, err)
	w := &world{T: t, client: client, namespace: namespace, actors: actors.New(client, namespace)}
	w.stop = apiservertest.Go(t, w.actors.Run)
	return w
}

// eventually waits until the object that get returns is as it should be.
func eventually[T any](w *world, get func() (T, error), holds func(T) bool) (got T) {
	w.Helper()
	apiservertest.Eventually(w, "the object", func() (err error) {
		got, err = get()
		if err == nil && !holds(got) {
			err = fmt.Errorf("is %+v", got)
		}
		return err
	})
	return got
}

var labels = map[string]string{"app": "web"}

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
	}
}

func (w *world) createDeployment(replicas int32) *appsv1.Deployment {
	w.Helper()
	d, err := w.client.AppsV1().Deployments(w.namespace).Create(w.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Template: template("nginx:1"),
			Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}, metav1.CreateOptions{})
	require.NoError(w, err)
	return d
}

func (w *world) deployment(holds func(*appsv1.Deployment) bool) *appsv1.Deployment {
	w.Helper()
	return eventually(w, func() (*appsv1.Deployment, error) {
		return w.client.AppsV1().Deployments(w.namespace).Get(w.Context(), "web", metav1.GetOptions{})
	}, holds)
}

func (w *world) scaleDeployment(replicas int32) {
	w.Helper()
	_, err := w.client.AppsV1().Deployments(w.namespace).Patch(w.Context(), "web", "application/merge-patch+json",
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), metav1.PatchOptions{})
	require.NoError(w, err)
}

func condition(d *appsv1.Deployment, name appsv1.DeploymentConditionType) string {
	for _, c := range d.Status.Conditions {
		if c.Type == name {
			return fmt.Sprint(c.Status, " ", c.Reason, ": ", c.Message)
		}
	}
	return "none"
}

func deploymentBecomesReady(w *world) {
	w.createDeployment(3)
	d := w.deployment(func(d *appsv1.Deployment) bool { return d.Status.ReadyReplicas == 3 })
	require.Equal(w, "True MinimumReplicasAvailable: Deployment has minimum availability.",
		condition(d, appsv1.DeploymentAvailable))
	require.Equal(w, `True NewReplicaSetAvailable: Deployment "web" has successfully progressed.`,
		condition(d, appsv1.DeploymentProgressing))
	status := d.Status.DeepCopy()
	status.Conditions = nil
	require.Equal(w, appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 3, UpdatedReplicas: 3,
		ReadyReplicas: 3, AvailableReplicas: 3}, *status)
	w.scaleDeployment(1)
	w.deployment(func(d *appsv1.Deployment) bool {
		return d.Status.ObservedGeneration == d.Generation && d.Status.ReadyReplicas == 1 && d.Status.Replicas == 1
	})
}

func heldDeployment(w *world) {
	w.actors.Hold("web")
	w.createDeployment(4)
	d := w.deployment(func(d *appsv1.Deployment) bool { return d.Status.ObservedGeneration == d.Generation })
	require.Zero(w, d.Status.ReadyReplicas)
	require.EqualValues(w, 4, d.Status.UnavailableReplicas)
	require.Equal(w, "False MinimumReplicasUnavailable: Deployment does not have minimum availability.",
		condition(d, appsv1.DeploymentAvailable))
	require.Equal(w, `True ReplicaSetUpdated: Deployment "web" is progressing.`,
		condition(d, appsv1.DeploymentProgressing))

	// By default a quarter may be unavailable.
	require.NoError(w, w.actors.SetReady(w.Context(), "Deployment", w.namespace, "web", 3))
	d = w.deployment(func(d *appsv1.Deployment) bool { return d.Status.ReadyReplicas == 3 })
	require.Contains(w, condition(d, appsv1.DeploymentAvailable), "MinimumReplicasAvailable")
	require.Contains(w, condition(d, appsv1.DeploymentProgressing), "ReplicaSetUpdated")

	require.NoError(w, w.actors.SetReady(w.Context(), "Deployment", w.namespace, "web", 9))
	w.deployment(func(d *appsv1.Deployment) bool { return d.Status.ReadyReplicas == 4 })
	require.NoError(w, w.actors.SetReady(w.Context(), "Deployment", w.namespace, "web", 0))
	w.actors.Release("web")
	w.deployment(func(d *appsv1.Deployment) bool { return d.Status.ReadyReplicas == 4 })
	w.actors.Hold("web")
	w.scaleDeployment(6)
	d = w.deployment(func(d *appsv1.Deployment) bool { return d.Status.ObservedGeneration == d.Generation })
	require.EqualValues(w, 4, d.Status.ReadyReplicas)
	require.EqualValues(w, 6, d.Status.Replicas)
	w.scaleDeployment(2)
	d = w.deployment(func(d *appsv1.Deployment) bool { return d.Status.ObservedGeneration == d.Generation })
	require.EqualValues(w, 2, d.Status.ReadyReplicas)
	require.ErrorContains(w, w.actors.SetReady(w.Context(), "Pod", w.namespace, "web", 1), `got "Pod"`)
}

func (w *world) createStatefulSet(replicas int32, change func(*appsv1.StatefulSetSpec)) *appsv1.StatefulSet {
	w.Helper()
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "datadir"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	s := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{Replicas: &replicas, ServiceName: "db", Template: template("mariadb:11"),
			Selector:             &metav1.LabelSelector{MatchLabels: labels},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{claim}},
	}
	if change != nil {
		change(&s.Spec)
	}
	s, err := w.client.AppsV1().StatefulSets(w.namespace).Create(w.Context(), s, metav1.CreateOptions{})
	require.NoError(w, err)
	return s
}

func (w *world) statefulSet(holds func(*appsv1.StatefulSet) bool) *appsv1.StatefulSet {
	w.Helper()
	return eventually(w, func() (*appsv1.StatefulSet, error) {
		return w.client.AppsV1().StatefulSets(w.namespace).Get(w.Context(), "db", metav1.GetOptions{})
	}, holds)
}

func (w *world) deleteStatefulSet() {
	w.Helper()
	require.NoError(w, w.client.AppsV1().StatefulSets(w.namespace).Delete(w.Context(), "db", metav1.DeleteOptions{}))
}

// claims waits for claims of these names, and no others.
func (w *world) claims(names ...string) []corev1.PersistentVolumeClaim {
	w.Helper()
	return eventually(w, func() ([]corev1.PersistentVolumeClaim, error) {
		list, err := w.client.CoreV1().PersistentVolumeClaims(w.namespace).List(w.Context(), metav1.ListOptions{})
		return list.Items, err
	}, func(claims []corev1.PersistentVolumeClaim) bool {
		return slices.EqualFunc(names, claims, func(name string, c corev1.PersistentVolumeClaim) bool {
			return name == c.Name
		})
	})
}

func halfReadyStatefulSet(w *world) {
	w.actors.Hold("db")
	w.createStatefulSet(3, nil)
	s := w.statefulSet(func(s *appsv1.StatefulSet) bool { return s.Status.ObservedGeneration == s.Generation })
	require.EqualValues(w, 1, s.Status.Replicas)
	require.NoError(w, w.actors.SetReady(w.Context(), "StatefulSet", w.namespace, "db", 1))
	s = w.statefulSet(func(s *appsv1.StatefulSet) bool { return s.Status.ReadyReplicas == 1 })
	require.EqualValues(w, 2, s.Status.Replicas)
	w.actors.Release("db")
	before := w.statefulSet(func(s *appsv1.StatefulSet) bool { return s.Status.ReadyReplicas == 3 })
	revision := before.Status.UpdateRevision
	require.Equal(w, appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 3, ReadyReplicas: 3,
		AvailableReplicas: 3, CurrentReplicas: 3, UpdatedReplicas: 3, CollisionCount: new(int32),
		CurrentRevision: revision, UpdateRevision: revision}, before.Status)

	_, err := w.client.AppsV1().StatefulSets(w.namespace).Patch(w.Context(), "db", "application/json-patch+json",
		[]byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"mariadb:12"}]`),
		metav1.PatchOptions{})
	require.NoError(w, err)
	s = w.statefulSet(func(s *appsv1.StatefulSet) bool { return s.Status.ObservedGeneration == s.Generation })
	require.NotEqual(w, revision, s.Status.UpdateRevision)
	require.Equal(w, s.Status.UpdateRevision, s.Status.CurrentRevision)
}

func claimsStay(w *world) {
	w.createStatefulSet(2, nil)
	claims := w.claims("datadir-db-0", "datadir-db-1")
	require.Empty(w, claims[0].OwnerReferences)
	require.Equal(w, labels, claims[0].Labels)
	w.deleteStatefulSet()
	again := w.createStatefulSet(1, func(spec *appsv1.StatefulSetSpec) { spec.ServiceName = "other" })
	w.statefulSet(func(s *appsv1.StatefulSet) bool { return s.UID == again.UID && s.Status.ReadyReplicas == 1 })
	require.Equal(w, claims[0].UID, w.claims("datadir-db-0", "datadir-db-1")[0].UID)
}

func claimsGo(w *world) {
	s := w.createStatefulSet(2, goWithAll)
	claims := w.claims("datadir-db-0", "datadir-db-1")
	require.Equal(w, s.UID, metav1.GetControllerOf(&claims[0]).UID)
	_, err := w.client.AppsV1().StatefulSets(w.namespace).Patch(w.Context(), "db", "application/merge-patch+json",
		[]byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{})
	require.NoError(w, err)
	w.claims("datadir-db-0")
	w.deleteStatefulSet()
	w.claims()
}
