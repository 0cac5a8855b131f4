package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
)

// everyWrite are the writes of an operator: those of a creation, those of corrections and those after a rename.
var (
	creations = []string{
		"create deployments", "create secrets", "create services", "create statefulsets", "change cloudmanagers/status",
	}
	corrections = []string{
		"change deployments", "change secrets", "change services", "change statefulsets", "change cloudmanagers/status",
	}
	removals = []string{"delete deployments", "delete services", "delete statefulsets"}
)

// suffers plays a story in which each write meets a fault: first those of the creation, then those of corrections, then
// those after a rename. In the end all is as it should be, and no fault was reported to users.
func suffers(what string, n, code int) play {
	return play{what, func(w *world) {
		plan := func(writes []string) {
			for _, write := range writes {
				w.fail(fault{write, n, code})
			}
		}
		w.start()
		plan(creations)
		w.create("cloud", "")
		w.runs("cloud")
		require.Empty(w.t, w.left())

		plan(corrections)
		edit(w, "secret", "cloudauth", func(s *corev1.Secret) { delete(s.Data, desired.PasswordKey) })
		edit(w, "service", "cm-db", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "other"} })
		w.change("cloud", func(cm *v1.CloudManager) {
			cm.Spec.Front.Deployment.Image, cm.Spec.DB.StatefulSet.Image = "nginx:1.21", "mariadb:11.4"
		})
		w.runs("cloud")
		becomes(w, "statefulset", "cm-db", imageIs("mariadb:11.4"))
		becomes(w, "secret", "cloudauth", func(s *corev1.Secret) bool { return len(s.Data[desired.PasswordKey]) > 0 })
		becomes(w, "service", "cm-db", func(s *corev1.Service) bool {
			return s.Spec.Selector[desired.LabelName] == "cm-db"
		})
		require.Empty(w.t, w.left())

		plan(removals)
		w.change("cloud", func(cm *v1.CloudManager) {
			cm.Spec.Front.Deployment.Name, cm.Spec.DB.StatefulSet.Name = "portal", "db2"
		})
		w.runs("cloud")
		w.isGone("deployment", "ake-front")
		w.isGone("service", "cm-db")
		w.isGone("statefulset", "cm-db")
		require.Empty(w.t, w.left())
		require.Empty(w.t, w.warnings("cloud"))
		w.quiet()
	}}
}

var faults = []play{
	suffers("each write fails twice with a server error", 2, http.StatusInternalServerError),
	suffers("each write meets a conflict", 1, http.StatusConflict),
	suffers("the answer to each write is lost", 1, 0),
	{"somebody else writes to the child all the time", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		for i := range 20 {
			image := fmt.Sprintf("nginx:1.%d", 21+i)
			w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.Front.Deployment.Image = image })
			edit(w, "deployment", "ake-front", func(d *appsv1.Deployment) {
				metav1.SetMetaDataAnnotation(&d.ObjectMeta, "seen", image)
			})
		}
		w.runs("cloud")
		becomes(w, "deployment", "ake-front", func(d *appsv1.Deployment) bool {
			return imageOf(d) == "nginx:1.40" && d.Annotations["seen"] == "nginx:1.40"
		})
	}},
	{"a write that is refused as invalid is reported, and not repeated until something changes", func(w *world) {
		w.fail(fault{"create deployments", 1000, http.StatusUnprocessableEntity})
		w.start()
		w.create("cloud", "")
		w.says("cloud", v1.ConditionReconciled, desired.ReasonRejected)
		w.quiet()
		require.LessOrEqual(w.t, w.count("create deployments"), 2, "the second is by the event of its own status")
		w.hears("cloud", "Warning Rejected")
		require.LessOrEqual(w.t, len(w.warnings("cloud")[0]), 1024, "the API server refuses longer ones")
		w.clear()
		w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.Front.Deployment.Image = "nginx:1.21" })
		w.runs("cloud")
	}},
	{"a correction that changes nothing is no Event", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		w.fail(fault{"change deployments", 1000, unchanged})
		w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.Front.Deployment.Image = "nginx:1.21" })
		w.runs("cloud")
		w.quiet()
		w.hears("cloud", created("cloud", "")...)
		require.Positive(w.t, w.count("change deployments"))
		w.clear()
		w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.Front.Deployment.Image = "nginx:1.22" })
		becomes(w, "deployment", "ake-front", func(d *appsv1.Deployment) bool { return imageOf(d) == "nginx:1.22" })
		w.hears("cloud", append(created("cloud", ""), `Updated deployment "ake-front"`)...)
	}},
	{"restarted at each gate", func(w *world) {
		gates := []struct{ workload, reason string }{
			{"ake-front", "FrontNotReady"}, {"cm-identity", "IdentityNotReady"}, {"cm-db", "DatabaseNotReady"},
		}
		for _, g := range gates {
			w.actors.Hold(g.workload)
		}
		w.create("cloud", "")
		for _, g := range gates {
			w.start()
			w.says("cloud", v1.ConditionReady, g.reason)
			w.stop()
			w.actors.Release(g.workload)
		}
		w.start()
		w.runs("cloud")
		w.hears("cloud", created("cloud", "")...)
		writes := w.count("change cloudmanagers/status")
		w.stop()
		w.start()
		w.create("next", "next-")
		w.runs("next")
		w.quiet()
		require.Zero(w.t, w.count("change deployments"))
		require.Equal(w.t, 2, w.count("create secrets"))
		require.Greater(w.t, w.count("change cloudmanagers/status"), writes)
	}},
	{"what changes while it does not run is put right at the start", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		w.stop()
		edit(w, "deployment", "cm-identity", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Image = "evil"
		})
		w.remove("service", "cm-db")
		w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.Front.Deployment.Name = "portal" })
		w.start()
		w.runs("cloud")
		w.exists("service", "cm-db")
		w.isGone("deployment", "ake-front")
		require.Equal(w.t, "busybox:1.32.1", imageOf(w.find("deployment", "cm-identity")))
	}},
}

const password = "correct horse battery staple"

var spec = []play{
	{"the password of the spec is in the Secret, and nowhere else", func(w *world) {
		w.start()
		w.create("cloud", "", func(cm *v1.CloudManager) { cm.Spec.DB.RootPass = password })
		w.runs("cloud")
		same := func(s *corev1.Secret) bool { return string(s.Data[desired.PasswordKey]) == password }
		require.True(w.t, same(w.find("secret", "cloudauth").(*corev1.Secret)))
		edit(w, "secret", "cloudauth", func(s *corev1.Secret) { s.Data[desired.PasswordKey] = []byte("other") })
		becomes(w, "secret", "cloudauth", same)
		w.hears("cloud", append(created("cloud", ""), `Updated secret "cloudauth"`)...)
		events, err := w.kube.CoreV1().Events(w.namespace).List(context.Background(), metav1.ListOptions{})
		require.NoError(w.t, err)
		shown, err := json.Marshal([]any{events, w.get("cloud").Status, w.find("statefulset", "cm-db")})
		require.NoError(w.t, err)
		require.NotContains(w.t, string(shown), password)
	}},
	{"a Secret of somebody else is pointed to, and none is made", func(w *world) {
		w.start()
		w.create("cloud", "", func(cm *v1.CloudManager) {
			cm.Spec.DB.RootPasswordSecretRef = &v1.SecretKeyRef{Name: "vault"}
		})
		w.runs("cloud")
		require.Nil(w.t, w.find("secret", "cloudauth"))
		set := w.find("statefulset", "cm-db").(*appsv1.StatefulSet)
		from := set.Spec.Template.Spec.Containers[0].Env[0].ValueFrom.SecretKeyRef
		require.Equal(w.t, "vault/password", from.Name+"/"+from.Key)
	}},
	{"storage that cannot change is reported, and the rest goes on", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		w.change("cloud", func(cm *v1.CloudManager) {
			db := &cm.Spec.DB.StatefulSet
			db.Storage.Size, db.Image = resource.MustParse("2Gi"), "mariadb:11.4"
		})
		w.says("cloud", v1.ConditionReconciled, desired.ReasonUnchangeable)
		w.says("cloud", v1.ConditionReady, desired.ReasonReady)
		becomes(w, "statefulset", "cm-db", imageIs("mariadb:11.4"))
		w.quiet()
		require.Equal(w.t, 1, w.count("change statefulsets"))
		w.hears("cloud", append(created("cloud", ""), `Updated statefulset "cm-db"`, "Warning FieldUnchangeable")...)
		w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.DB.StatefulSet.Storage.Size = resource.MustParse("1Gi") })
		w.runs("cloud")
	}},
	{"a spec that makes no sense is reported, and what is there stays", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		w.hears("cloud", created("cloud", "")...) // Events come late
		before := w.count("")
		w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.Identity.Deployment.Name = "ake-front" })
		w.says("cloud", v1.ConditionReconciled, desired.ReasonInvalid)
		require.Equal(w.t, v1.PhaseBlocked, w.get("cloud").Status.Phase)
		w.hears("cloud", append(created("cloud", ""), "Warning InvalidSpec")...)
		w.quiet()
		require.NotNil(w.t, w.find("deployment", "cm-identity"))
		require.LessOrEqual(w.t, w.count("")-before, 2, "a status and an Event")
		w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.Identity.Deployment.Name = "cm-identity" })
		w.runs("cloud")
	}},
	{"a database with the name of the front is reported, for its Service would find the front's Pods", func(w *world) {
		w.start()
		w.create("cloud", "", func(cm *v1.CloudManager) { cm.Spec.DB.StatefulSet.Name = "ake-front" })
		w.says("cloud", v1.ConditionReconciled, desired.ReasonInvalid)
		w.quiet()
		require.Nil(w.t, w.find("deployment", "ake-front"))
		w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.DB.StatefulSet.Name = "cm-db" })
		w.runs("cloud")
	}},
}

// readyMessage wants this message of the condition Ready.
func (w *world) readyMessage(name, want string) error {
	c := meta.FindStatusCondition(w.get(name).Status.Conditions, v1.ConditionReady)
	if c == nil || c.Message != want {
		return fmt.Errorf("got %+v, want %s", c, want)
	}
	return nil
}
