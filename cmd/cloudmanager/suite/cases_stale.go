package suite

import (
	"context"
	"errors"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
)

// behind has the operator's cache of CloudManagers stay as it is until w.watches.release, as with a slow watch.
func (w *world) behind(name string) {
	w.t.Helper()
	present := fmt.Sprintf(`"resourceVersion":%q`, w.get(name).ResourceVersion)
	w.eventually("the operator has heard of "+name, func() error {
		if !w.watches.hasBrought("cloudmanagers", present) {
			return errors.New("it has not")
		}
		return nil
	})
	w.watches.hold("cloudmanagers")
}

// work gives the operator a second to do what it wants to.
func (w *world) work() {
	<-time.After(time.Second)
	if w.virtual {
		synctest.Wait()
	}
}

var stale = []play{
	{"deleted just before the Secret is made", func(w *world) {
		w.actors.Hold("cm-identity")
		w.start()
		// The finalizer keeps the children, so that nothing else stops the operator.
		w.create("cloud", "", func(cm *v1.CloudManager) { cm.Finalizers = []string{"example.com/wait"} })
		w.says("cloud", v1.ConditionReady, "IdentityNotReady")
		w.behind("cloud")
		w.delete("cloud")
		w.actors.Release("cm-identity")
		w.work()
		require.Nil(w.t, w.find("secret", "cloudauth"))
		w.watches.release("cloudmanagers")
		w.work()
		w.change("cloud", func(cm *v1.CloudManager) { cm.Finalizers = nil })
		w.isGone("deployment", "cm-identity")
		require.Nil(w.t, w.find("secret", "cloudauth"))
	}},
	{"a leader whose cache is behind deletes no child that is wanted", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		w.behind("cloud")
		w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.Front.Deployment.Name = "portal" })
		child := desired.Stages(w.get("cloud"))[0].Children[0] // which the next leader makes
		child.Set(child.Object)
		portal, create := child.Object.(*appsv1.Deployment), metav1.CreateOptions{}
		made, err := w.kube.AppsV1().Deployments(w.namespace).Create(context.Background(), portal, create)
		require.NoError(w.t, err)
		w.work()
		require.Zero(w.t, w.count("delete deployments"))
		w.watches.release("cloudmanagers")
		w.runs("cloud")
		w.isGone("deployment", "ake-front")
		require.Equal(w.t, made.UID, w.find("deployment", "portal").GetUID())
	}},
	{"a leader whose cache is behind makes no child by an old name", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		w.behind("cloud")
		w.change("cloud", func(cm *v1.CloudManager) { cm.Spec.DB.StatefulSet.Name = "db2" })
		w.remove("service", "cm-db")
		w.work()
		require.Nil(w.t, w.find("service", "cm-db"))
		w.watches.release("cloudmanagers")
		w.runs("cloud")
		w.isGone("statefulset", "cm-db")
	}},
	{"a status whose answer was lost does not stay when all is ready again", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		w.behind("cloud")
		w.stopActor()
		w.fail(fault{"change cloudmanagers/status", 1, 0})
		w.status("ake-front", func(d *appsv1.Deployment) { d.Status.ReadyReplicas, d.Status.AvailableReplicas = 0, 0 })
		w.says("cloud", v1.ConditionReady, "FrontNotReady")
		w.status("ake-front", func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 1 })
		w.work() // it finds that all is as the cache says
		w.watches.release("cloudmanagers")
		w.runs("cloud")
		w.quiet()
	}},
	{"a status that somebody edits is put right", func(w *world) {
		w.start()
		w.create("cloud", "")
		w.runs("cloud")
		cm := w.get("cloud")
		cm.Status.Phase = v1.PhaseBlocked
		_, err := w.managers.UpdateStatus(context.Background(), cm, metav1.UpdateOptions{})
		require.NoError(w.t, err)
		w.runs("cloud")
		w.quiet()
	}},
}
