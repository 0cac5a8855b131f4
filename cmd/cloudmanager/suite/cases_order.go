package suite

import (
	"context"
	"slices"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
)

// created are the Events of a CloudManager that was created and had no trouble.
func created(name, prefix string) []string {
	return []string{
		`Created deployment "` + prefix + `ake-front"`, `Created deployment "` + prefix + `cm-identity"`,
		`Created secret "` + name + `auth"`,
		`Created service "` + prefix + `cm-db"`, `Created statefulset "` + prefix + `cm-db"`,
	}
}

var creation = []play{
	{"create makes everything, and then nothing more is written", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		w.exists("claim", "datadir-cm-db-0")
		w.hears("cloud", created("cloud", "")...)
		for _, write := range []string{"deployments", "secrets", "services", "statefulsets"} {
			want := map[string]int{"deployments": 2}[write]
			require.Equal(w.t, max(want, 1), w.count("create "+write), write)
			require.Zero(w.t, w.count("change "+write), write)
		}
		w.quiet()
	}},
	{"each gate holds back what comes after it", func(w *world) {
		w.actors.Hold("ake-front")
		w.actors.Hold("cm-identity")
		w.actors.Hold("cm-db")
		w.start()
		w.create("cloud", "")
		w.says("cloud", v1.ConditionReady, "FrontNotReady")
		w.quiet()
		require.Nil(w.t, w.find("deployment", "cm-identity"))
		w.actors.Release("ake-front")
		w.says("cloud", v1.ConditionReady, "IdentityNotReady")
		w.quiet()
		require.Nil(w.t, w.find("secret", "cloudauth"))
		require.Nil(w.t, w.find("statefulset", "cm-db"))
		w.actors.Release("cm-identity")
		w.says("cloud", v1.ConditionReady, "DatabaseNotReady")
		require.Equal(w.t, v1.PhaseCreating, w.get("cloud").Status.Phase)
		w.actors.Release("cm-db")
		w.runs("cloud")
	}},
	{"a gate wants more than half of the replicas", func(w *world) {
		w.actors.Hold("ake-front")
		w.start()
		w.create("cloud", "")
		w.says("cloud", v1.ConditionReady, "FrontNotReady")
		w.scale("ake-front", 4)
		require.NoError(w.t, w.actors.SetReady(context.Background(), "Deployment", w.namespace, "ake-front", 2))
		w.eventually("the status counts", func() error {
			return w.readyMessage("cloud", `deployment "ake-front": 2 of 4 replicas ready, 3 needed`)
		})
		require.Nil(w.t, w.find("deployment", "cm-identity"))
		require.NoError(w.t, w.actors.SetReady(context.Background(), "Deployment", w.namespace, "ake-front", 3))
		w.runs("cloud")
	}},
	{"zero replicas open a gate at once", func(w *world) {
		w.actors.Hold("ake-front")
		w.start()
		w.create("cloud", "")
		w.says("cloud", v1.ConditionReady, "FrontNotReady")
		w.stopActor()
		w.scale("ake-front", 0)
		w.exists("deployment", "cm-identity")
	}},
	{"a status of an earlier generation opens no gate", func(w *world) {
		w.stopActor()
		w.start()
		w.create("cloud", "")
		w.exists("deployment", "ake-front")
		w.status("ake-front", func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.ReadyReplicas = 1, 1 })
		w.eventually("the gate stays closed", func() error {
			return w.readyMessage("cloud", `deployment "ake-front": its controller has not seen the last change`)
		})
		w.quiet()
		require.Nil(w.t, w.find("deployment", "cm-identity"))
		w.status("ake-front", func(d *appsv1.Deployment) { d.Status.ObservedGeneration = d.Generation })
		w.exists("deployment", "cm-identity")
	}},
	{"two at once", func(w *world) {
		w.start()
		w.create("one", "one-")
		w.create("two", "two-")
		w.runs("one")
		w.runs("two")
		w.change("two", func(cm *v1.CloudManager) { cm.Spec.Front.Deployment.Image = "nginx:1.21" })
		w.runs("two")
		w.hears("one", created("one", "one-")...)
		w.hears("two", append(created("two", "two-"), `Updated deployment "two-ake-front"`)...)
	}},
}

// scale is what kubectl scale does.
func (w *world) scale(name string, replicas int32) {
	w.t.Helper()
	edit(w, "deployment", name, func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(replicas) })
}

// status plays the Deployment controller where the actor is stopped.
func (w *world) status(name string, mutate func(*appsv1.Deployment)) {
	w.t.Helper()
	d := w.find("deployment", name).(*appsv1.Deployment)
	mutate(d)
	_, err := w.kube.AppsV1().Deployments(w.namespace).UpdateStatus(context.Background(), d, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

var changes = []play{
	{"a new image is rolled out, and what others added stays", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		edit(w, "deployment", "ake-front", func(d *appsv1.Deployment) {
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, "team", "shop")
			pod := &d.Spec.Template.Spec
			pod.Containers = append(pod.Containers, corev1.Container{Name: "sidecar", Image: "envoy"})
		})
		w.change("cloud", func(cm *v1.CloudManager) {
			cm.Spec.Front.Deployment.Image, cm.Spec.DB.StatefulSet.Image = "nginx:1.21", "mariadb:11.4"
		})
		w.runs("cloud")
		becomes(w, "deployment", "ake-front", func(d *appsv1.Deployment) bool {
			c := d.Spec.Template.Spec.Containers
			return len(c) == 2 && c[0].Image == "nginx:1.21" && c[1].Image == "envoy" && d.Annotations["team"] == "shop"
		})
		becomes(w, "statefulset", "cm-db", imageIs("mariadb:11.4"))
		w.hears("cloud", append(created("cloud", ""),
			`Updated deployment "ake-front"`, `Updated statefulset "cm-db"`)...)
		w.quiet()
	}},
	{"a change that is not observed yet holds back what comes after it", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		w.stopActor() // nothing is observed any more
		w.change("cloud", func(cm *v1.CloudManager) {
			cm.Spec.Front.Deployment.Image, cm.Spec.Identity.Deployment.Image = "nginx:1.21", "busybox:1.36"
		})
		w.says("cloud", v1.ConditionReady, "FrontNotReady")
		w.quiet()
		require.Zero(w.t, w.count("change statefulsets"))
		require.Equal(w.t, "busybox:1.32.1", imageOf(w.find("deployment", "cm-identity")))
		w.status("ake-front", func(d *appsv1.Deployment) { d.Status.ObservedGeneration = d.Generation })
		becomes(w, "deployment", "cm-identity", func(d *appsv1.Deployment) bool { return imageOf(d) == "busybox:1.36" })
	}},
	{"who scales a Deployment is not contradicted", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		w.scale("ake-front", 3)
		w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.Front.Deployment.Image = "nginx:1.21" })
		w.runs("cloud")
		require.EqualValues(w.t, 3, *w.find("deployment", "ake-front").(*appsv1.Deployment).Spec.Replicas)
		w.quiet()
	}},
	{"a renamed front takes over before the old one goes", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		w.actors.Hold("portal")
		w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.Front.Deployment.Name = "portal" })
		w.says("cloud", v1.ConditionReady, "FrontNotReady")
		w.quiet()
		require.NotNil(w.t, w.find("deployment", "ake-front"))
		w.actors.Release("portal")
		w.runs("cloud")
		w.isGone("deployment", "ake-front")
		w.hears("cloud", append(created("cloud", ""),
			`Created deployment "portal"`, `Deleted deployment "ake-front"`)...)
	}},
	{"front and identity swap their names", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		w.change("cloud", func(cm *v1.CloudManager) {
			front, identity := &cm.Spec.Front.Deployment, &cm.Spec.Identity.Deployment
			front.Name, identity.Name = identity.Name, front.Name
		})
		w.runs("cloud")
		for name, want := range map[string]corev1.Container{
			"cm-identity": {Image: "nginx:1.20"},
			"ake-front":   {Image: "busybox:1.32.1", Command: []string{"sleep", "60m"}},
		} {
			becomes(w, "deployment", name, func(d *appsv1.Deployment) bool {
				c := d.Spec.Template.Spec.Containers
				return len(c) == 1 && c[0].Image == want.Image && slices.Equal(c[0].Command, want.Command)
			})
		}
		w.hears("cloud", append(created("cloud", ""),
			`Updated deployment "ake-front"`, `Updated deployment "cm-identity"`)...)
		w.quiet()
	}},
	{"a renamed database leaves its data", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		w.exists("claim", "datadir-cm-db-0")
		w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.DB.StatefulSet.Name = "db2" })
		w.runs("cloud")
		w.isGone("statefulset", "cm-db")
		w.isGone("service", "cm-db")
		w.exists("claim", "datadir-db2-0")
		require.NotNil(w.t, w.find("claim", "datadir-cm-db-0"))
		w.hears("cloud", append(created("cloud", ""), `Created service "db2"`, `Created statefulset "db2"`,
			`Deleted service "cm-db"`, `Deleted statefulset "cm-db"`)...)
		w.quiet()
	}},
}

func imageOf(obj desired.Object) string {
	if s, ok := obj.(*appsv1.StatefulSet); ok {
		return s.Spec.Template.Spec.Containers[0].Image
	}
	return obj.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image
}

func imageIs(image string) func(*appsv1.StatefulSet) bool {
	return func(s *appsv1.StatefulSet) bool { return imageOf(s) == image }
}
