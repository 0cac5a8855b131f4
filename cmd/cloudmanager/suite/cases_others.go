package suite

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
)

// drifts is a case in which somebody edits a child, and it is put right.
func drifts[T desired.Object](kind, name, field string, spoil func(T), right func(T) bool) play {
	return play{"drift of " + kind + " " + name + ", " + field, func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		edit(w, kind, name, spoil)
		becomes(w, kind, name, right)
		w.hears("cloud", append(created("cloud", ""), desired.Message(desired.ReasonUpdated, kind, name))...)
		w.quiet()
		require.Equal(w.t, 1, w.done("change "+kind+"s"), "beside conflicts with the status that follows the edit")
	}}
}

// all are the children of a CloudManager cloud without a prefix, in order.
var all = [][2]string{
	{"deployment", "ake-front"}, {"deployment", "cm-identity"}, {"secret", "cloudauth"},
	{"service", "cm-db"}, {"statefulset", "cm-db"},
}

var drift = []play{
	drifts("deployment", "ake-front", "image",
		func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "nginx:evil" },
		func(d *appsv1.Deployment) bool { return imageOf(d) == "nginx:1.20" }),
	drifts("deployment", "cm-identity", "command",
		func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Command = []string{"true"} },
		func(d *appsv1.Deployment) bool {
			return strings.Join(d.Spec.Template.Spec.Containers[0].Command, " ") == "sleep 60m"
		}),
	drifts("secret", "cloudauth", "password",
		func(s *corev1.Secret) { delete(s.Data, desired.PasswordKey) },
		func(s *corev1.Secret) bool { return len(s.Data[desired.PasswordKey]) > 0 }),
	drifts("service", "cm-db", "selector",
		func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "other"} },
		func(s *corev1.Service) bool { return s.Spec.Selector[desired.LabelName] == "cm-db" }),
	drifts("service", "cm-db", "port",
		func(s *corev1.Service) { s.Spec.Ports[0].Port = 3307 },
		func(s *corev1.Service) bool { return len(s.Spec.Ports) == 1 && s.Spec.Ports[0].Port == 3306 }),
	drifts("statefulset", "cm-db", "mount",
		func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].VolumeMounts[0].MountPath = "/data" },
		func(s *appsv1.StatefulSet) bool {
			m := s.Spec.Template.Spec.Containers[0].VolumeMounts
			return len(m) == 1 && m[0].MountPath == desired.DataPath
		}),
	drifts("statefulset", "cm-db", "environment",
		func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.Containers[0].Env[0].ValueFrom.SecretKeyRef.Name = "other"
		},
		func(s *appsv1.StatefulSet) bool {
			return s.Spec.Template.Spec.Containers[0].Env[0].ValueFrom.SecretKeyRef.Name == "cloudauth"
		}),
	{"deleted children come back", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		for _, child := range all {
			uid := w.find(child[0], child[1]).GetUID()
			w.remove(child[0], child[1])
			w.eventually(child[1]+" comes back", func() error {
				if obj := w.find(child[0], child[1]); obj == nil || obj.GetUID() == uid {
					return context.DeadlineExceeded
				}
				return nil
			})
			w.runs("cloud")
		}
	}},
}

var foreign = []play{
	{"foreign children are left alone and reported, and waited for", func(w *world) {
		meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
		pod := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "theirs"}}}}
		selector := &metav1.LabelSelector{MatchLabels: pod.Labels}
		ctx, create := context.Background(), metav1.CreateOptions{}
		for _, name := range []string{"ake-front", "cm-identity"} {
			_, err := w.kube.AppsV1().Deployments(w.namespace).Create(ctx, &appsv1.Deployment{ObjectMeta: meta(name),
				Spec: appsv1.DeploymentSpec{Selector: selector, Template: pod}}, create)
			require.NoError(w.t, err)
		}
		secret := &corev1.Secret{ObjectMeta: meta("cloudauth")}
		_, err := w.kube.CoreV1().Secrets(w.namespace).Create(ctx, secret, create)
		require.NoError(w.t, err)
		_, err = w.kube.CoreV1().Services(w.namespace).Create(ctx, &corev1.Service{ObjectMeta: meta("cm-db"),
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, create)
		require.NoError(w.t, err)
		_, err = w.kube.AppsV1().StatefulSets(w.namespace).Create(ctx, &appsv1.StatefulSet{ObjectMeta: meta("cm-db"),
			Spec: appsv1.StatefulSetSpec{Selector: selector, Template: pod}}, create)
		require.NoError(w.t, err)

		w.start()
		w.create("cloud", "")
		for _, child := range all {
			w.eventually("the foreign "+child[0]+" is reported", func() error {
				return w.readyMessage("cloud", desired.Exists(child[0], child[1]).Message)
			})
			w.says("cloud", v1.ConditionReconciled, desired.ReasonExists)
			require.Equal(w.t, v1.PhaseBlocked, w.get("cloud").Status.Phase)
			w.quiet()
			require.Empty(w.t, w.find(child[0], child[1]).GetOwnerReferences())
			require.Zero(w.t, w.count("change "+child[0]+"s"))
			w.remove(child[0], child[1])
		}
		w.runs("cloud")
		w.hears("cloud", append(created("cloud", ""),
			slices.Repeat([]string{"Warning ErrResourceExists"}, len(all))...)...)
		require.Zero(w.t, w.count("delete deployments"))
	}},
	{"a Secret that lost its labels keeps its password", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		before := w.find("secret", "cloudauth").(*corev1.Secret)
		edit(w, "secret", "cloudauth", func(s *corev1.Secret) {
			s.Labels = nil
			s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.get("cloud"), v1.Kind)}
		})
		w.says("cloud", v1.ConditionReconciled, desired.ReasonExists)
		w.quiet()
		edit(w, "secret", "cloudauth", func(s *corev1.Secret) { s.Labels, s.OwnerReferences = before.Labels, nil })
		w.runs("cloud")
		require.Equal(w.t, before.Data, w.find("secret", "cloudauth").(*corev1.Secret).Data)
	}},
	{"of two that name the same Deployment one waits for the other", func(w *world) {
		w.start()
		w.create("first", "")
		w.runs("first")
		w.create("second", "second-", func(cm *v1.CloudManager) {
			cm.Spec.Front.Deployment = v1.Workload{Name: "ake-front", Image: "nginx:other"}
		})
		w.says("second", v1.ConditionReconciled, desired.ReasonExists)
		w.quiet()
		require.Equal(w.t, "nginx:1.20", imageOf(w.find("deployment", "ake-front")))
		w.hears("second", "Warning ErrResourceExists")
		w.change("first", func(cm *v1.CloudManager) { cm.Spec.Front.Deployment.Name = "mine" })
		w.runs("second")
		becomes(w, "deployment", "ake-front", func(d *appsv1.Deployment) bool { return imageOf(d) == "nginx:other" })
		w.runs("first")
	}},
}

var ends = []play{
	{"what it controls and does not ask for is removed", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		front := w.find("deployment", "ake-front").(*appsv1.Deployment)
		meta := metav1.ObjectMeta{Name: "stray", Labels: front.Labels, OwnerReferences: front.OwnerReferences}
		front.ObjectMeta = meta
		_, err := w.kube.AppsV1().Deployments(w.namespace).Create(context.Background(), front, metav1.CreateOptions{})
		require.NoError(w.t, err)
		w.isGone("deployment", "stray")
		w.hears("cloud", append(created("cloud", ""), `Deleted deployment "stray"`)...)
	}},
	{"a Secret that it controls stays, and nothing waits for its end", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "tls",
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w.get("cloud"), v1.Kind)}}}
		w.fail(fault{"delete secrets", 1000, http.StatusForbidden})
		_, err := w.kube.CoreV1().Secrets(w.namespace).Create(context.Background(), s, metav1.CreateOptions{})
		require.NoError(w.t, err)
		w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.Front.Deployment.Image = "nginx:1.21" })
		w.runs("cloud")
		w.quiet()
		require.Zero(w.t, w.count("delete secrets"))
	}},
	{"deleted while it is created", func(w *world) {
		w.actors.Hold("cm-identity")
		w.start()
		w.create("cloud", "")
		w.says("cloud", v1.ConditionReady, "IdentityNotReady")
		w.delete("cloud")
		w.isGone("deployment", "ake-front")
		w.isGone("deployment", "cm-identity")
		w.quiet()
		require.Nil(w.t, w.find("secret", "cloudauth"))
		require.Nil(w.t, w.find("statefulset", "cm-db"))
	}},
	{"a child that is being deleted is waited for", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		edit(w, "deployment", "ake-front", func(d *appsv1.Deployment) { d.Finalizers = []string{"example.com/wait"} })
		w.remove("deployment", "ake-front")
		w.says("cloud", v1.ConditionReady, desired.ReasonPending)
		w.quiet()
		require.Empty(w.t, w.warnings("cloud"))
		edit(w, "deployment", "ake-front", func(d *appsv1.Deployment) { d.Finalizers = nil })
		w.runs("cloud")
	}},
	{"nothing is made for one that is being deleted", func(w *world) {
		w.start()
		w.create("cloud", "", func(cm *v1.CloudManager) { cm.Finalizers = []string{"example.com/wait"} })
		w.runs("cloud")
		w.delete("cloud")
		w.remove("service", "cm-db")
		w.create("next", "next-") // its work comes after
		w.runs("next")
		w.quiet()
		require.Nil(w.t, w.find("service", "cm-db"))
		w.change("cloud", func(cm *v1.CloudManager) { cm.Finalizers = nil })
	}},
	{"data and password outlive a deletion, and the next of that name takes them up", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		w.exists("claim", "datadir-cm-db-0")
		claim := w.find("claim", "datadir-cm-db-0").GetUID()
		password := w.find("secret", "cloudauth").(*corev1.Secret).Data
		w.delete("cloud")
		w.create("cloud", "") // at once: the children of the first are still there
		w.runs("cloud")
		require.Equal(w.t, claim, w.find("claim", "datadir-cm-db-0").GetUID())
		require.Equal(w.t, password, w.find("secret", "cloudauth").(*corev1.Secret).Data)
		uid := w.get("cloud").UID
		require.Equal(w.t, uid, metav1.GetControllerOf(w.find("statefulset", "cm-db")).UID)
	}},
}
