package apiserver_test

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

func (c *cluster) configMaps() typedcore.ConfigMapInterface {
	return c.clientset("").CoreV1().ConfigMaps("default")
}

// configMap stores one with finalizers and owners.
func (c *cluster) configMap(name string, change func(*metav1.ObjectMeta)) *corev1.ConfigMap {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if change != nil {
		change(&obj.ObjectMeta)
	}
	made, err := c.configMaps().Create(c.Context(), obj, metav1.CreateOptions{})
	require.NoError(c, err)
	return made
}

func ownedBy(owners ...*corev1.ConfigMap) func(*metav1.ObjectMeta) {
	return func(m *metav1.ObjectMeta) {
		for _, o := range owners {
			m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{
				APIVersion: "v1", Kind: "ConfigMap", Name: o.Name, UID: o.UID, BlockOwnerDeletion: ptr.To(true)})
		}
	}
}

// present returns the names of the ConfigMaps after all goroutines are blocked.
func (c *cluster) present() []string {
	<-time.After(time.Second) // virtual
	synctest.Wait()
	list, err := c.configMaps().List(c.Context(), metav1.ListOptions{})
	require.NoError(c, err)
	out := []string{}
	for _, o := range list.Items {
		out = append(out, o.Name)
	}
	return out
}

func (c *cluster) delete(name string, opts metav1.DeleteOptions) {
	require.NoError(c, c.configMaps().Delete(c.Context(), name, opts))
}

func TestDelete_AnswersWithAStatusOrTheObject(t *testing.T) {
	c := start(t, apiserver.Options{})
	cm := c.configMap("a", nil)
	got := c.raw("DELETE", "/api/v1/namespaces/default/configmaps/a", "")
	require.Equal(t, 200, got.code)
	status := got.status(t)
	require.Equal(t, metav1.StatusSuccess, status.Status)
	require.Equal(t, &metav1.StatusDetails{Name: "a", Kind: "configmaps", UID: cm.UID}, status.Details)
	c.create("web")
	got = c.raw("DELETE", "/api/v1/namespaces/default/services/web", "")
	require.Contains(t, got.body, `"kind":"Service"`)
	require.Contains(t, got.body, `"resourceVersion":"`+strconv.FormatInt(c.Revision(), 10)+`"`)
	require.Equal(t, 404, c.raw("DELETE", "/api/v1/namespaces/default/services/web", "").code)
}

func TestDelete_ChecksItsPreconditions(t *testing.T) {
	c := start(t, apiserver.Options{})
	cm := c.configMap("a", nil)
	err := c.configMaps().Delete(c.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("other"))}})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	require.ErrorContains(t, err, `Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (other) does not match the UID in record (`+string(cm.UID)+")")
	err = c.configMaps().Delete(c.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ptr.To("1")}})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	c.delete("a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &cm.UID, ResourceVersion: &cm.ResourceVersion}})
}

func TestDelete_WaitsForFinalizers(t *testing.T) {
	c := start(t, apiserver.Options{})
	c.configMap("a", func(m *metav1.ObjectMeta) { m.Finalizers = []string{"example.com/hold"} })
	c.delete("a", metav1.DeleteOptions{})
	held, err := c.configMaps().Get(c.Context(), "a", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotNil(t, held.DeletionTimestamp)
	before := c.Revision()
	c.delete("a", metav1.DeleteOptions{})
	require.Equal(t, before, c.Revision(), "deleting it again changes nothing")
	_, err = c.configMaps().Create(c.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	require.ErrorContains(t, err, "object is being deleted: configmaps \"a\" already exists")

	held.DeletionTimestamp, held.Labels = nil, map[string]string{"a": "b"}
	held, err = c.configMaps().Update(c.Context(), held, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NotNil(t, held.DeletionTimestamp, "there is no way back")
	held.Finalizers = append(held.Finalizers, "example.com/late")
	_, err = c.configMaps().Update(c.Context(), held, metav1.UpdateOptions{})
	require.True(t, apierrors.IsInvalid(err), "no finalizer is added to an object that is going: %v", err)

	_, err = c.configMaps().Patch(c.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	_, err = c.configMaps().Get(c.Context(), "a", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestDeleteCollection_TakesWhatTheSelectorMatches(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		for _, name := range []string{"a", "b", "c"} {
			c.configMap(name, func(m *metav1.ObjectMeta) { m.Labels = map[string]string{"keep": strconv.FormatBool(name == "b")} })
		}
		require.NoError(t, c.configMaps().DeleteCollection(c.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "keep=false"}))
		require.Equal(t, []string{"b"}, c.present())
	})
}

func TestGarbage_GoesWithTheLastOfItsOwners(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		a, b := c.configMap("a", nil), c.configMap("b", nil)
		c.configMap("child", ownedBy(a, b))
		grandchild := func() {
			c.configMap("grandchild", ownedBy(must(c.configMaps().Get(c.Context(), "child", metav1.GetOptions{}))))
		}
		grandchild()
		c.delete("a", metav1.DeleteOptions{})
		require.Equal(t, []string{"b", "child", "grandchild"}, c.present())
		child := must(c.configMaps().Get(c.Context(), "child", metav1.GetOptions{}))
		require.Len(t, child.OwnerReferences, 1, "the dangling reference is taken off")
		c.delete("b", metav1.DeleteOptions{})
		require.Empty(t, c.present())
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestGarbage_IsToldByUIDNotByName(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		old := c.configMap("owner", nil)
		c.configMap("child", ownedBy(old))
		c.delete("owner", metav1.DeleteOptions{})
		c.configMap("owner", nil)
		require.Equal(t, []string{"owner"}, c.present())
		c.configMap("late", ownedBy(old))
		require.Equal(t, []string{"owner"}, c.present(), "born an orphan of an owner that is gone")
	})
}

func TestGarbage_AnOwnerOfAnUnknownKindKeepsItsDependents(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		c.configMap("child", func(m *metav1.ObjectMeta) {
			m.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "Nothing", Name: "x", UID: "y"}}
		})
		require.Equal(t, []string{"child"}, c.present())
	})
}

func TestGarbage_OrphansStayAndForegroundWaits(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		owner := c.configMap("owner", nil)
		c.configMap("child", ownedBy(owner))
		require.Equal(t, []string{"child", "owner"}, c.present()) // no sweep is due from here on
		c.delete("owner", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationOrphan)})
		require.Equal(t, []string{"child"}, c.present())
		require.Empty(t, must(c.configMaps().Get(c.Context(), "child", metav1.GetOptions{})).OwnerReferences)

		owner = c.configMap("owner", nil)
		c.configMap("slow", func(m *metav1.ObjectMeta) {
			ownedBy(owner)(m)
			m.Finalizers = []string{"example.com/hold"}
		})
		c.delete("owner", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationForeground)})
		require.Equal(t, []string{"child", "owner", "slow"}, c.present())
		require.NotNil(t, must(c.configMaps().Get(c.Context(), "slow", metav1.GetOptions{})).DeletionTimestamp)
		_, err := c.configMaps().Patch(c.Context(), "slow", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{"child"}, c.present())
	})
}

func TestGarbage_ForegroundWaitsForThoseThatBlockOnly(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		owner := c.configMap("owner", nil)
		c.configMap("slow", func(m *metav1.ObjectMeta) {
			ownedBy(owner)(m)
			m.OwnerReferences[0].BlockOwnerDeletion = nil
			m.Finalizers = []string{"example.com/hold"}
		})
		c.delete("owner", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationForeground)})
		require.Equal(t, []string{"slow"}, c.present())
	})
}

func TestDelete_WinsAgainstWritersThatKeepComing(t *testing.T) {
	c := start(t, apiserver.Options{})
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for range 3 {
		writers.Go(func() {
			client := c.configMaps()
			for {
				select {
				case <-stop:
					return
				default:
				}
				_, err := client.Patch(c.Context(), "a", types.MergePatchType, []byte(`{"data":{"x":"`+randomName()+`"}}`), metav1.PatchOptions{})
				assert.True(t, err == nil || apierrors.IsNotFound(err), "%v", err)
			}
		})
	}
	for range 60 {
		c.configMap("a", nil)
		c.delete("a", metav1.DeleteOptions{})
	}
	close(stop)
	writers.Wait()
}

func TestNamespace_TakesItsContentsAlong(t *testing.T) {
	story(t, apiserver.Options{}, func(t *testing.T, c *cluster) {
		namespaces := c.clientset("").CoreV1().Namespaces()
		ns, err := namespaces.Create(c.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, corev1.NamespaceActive, ns.Status.Phase)
		require.Equal(t, "shop", ns.Labels[corev1.LabelMetadataName])
		maps := c.clientset("").CoreV1().ConfigMaps("shop")
		held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/hold"}}}
		_, err = maps.Create(c.Context(), held, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = c.clientset("").CoreV1().Services("shop").Create(c.Context(), service("web"), metav1.CreateOptions{})
		require.NoError(t, err)

		require.NoError(t, namespaces.Delete(c.Context(), "shop", metav1.DeleteOptions{}))
		ns, err = namespaces.Get(c.Context(), "shop", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, corev1.NamespaceTerminating, ns.Status.Phase)
		_, err = maps.Create(c.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{})
		require.True(t, apierrors.IsForbidden(err) && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), "%v", err)
		require.ErrorContains(t, err, "unable to create new content in namespace shop because it is being terminated")

		<-time.After(time.Second)
		_, err = c.clientset("").CoreV1().Services("shop").Get(c.Context(), "web", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		_, err = namespaces.Get(c.Context(), "shop", metav1.GetOptions{})
		require.NoError(t, err, "something in it is held")
		_, err = maps.Patch(c.Context(), "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		<-time.After(time.Second)
		_, err = namespaces.Get(c.Context(), "shop", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)

		err = namespaces.Delete(c.Context(), "default", metav1.DeleteOptions{})
		require.True(t, apierrors.IsForbidden(err), "%v", err)
	})
}

func TestNamespace_KeepsItsFinalizersUntilItIsFinalized(t *testing.T) {
	c := start(t, apiserver.Options{})
	namespaces := c.clientset("").CoreV1().Namespaces()
	ns := must(namespaces.Create(c.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}))
	kept := ns.Spec.Finalizers
	require.NotEmpty(t, kept)

	ns.Spec.Finalizers, ns.Status.Phase = nil, corev1.NamespaceTerminating
	ns = must(namespaces.Update(c.Context(), ns, metav1.UpdateOptions{}))
	require.Equal(t, kept, ns.Spec.Finalizers)
	require.Equal(t, corev1.NamespaceActive, ns.Status.Phase)
	ns = must(namespaces.Patch(c.Context(), "a", types.MergePatchType, []byte(`{"spec":{"finalizers":[]}}`), metav1.PatchOptions{}))
	require.Equal(t, kept, ns.Spec.Finalizers)

	ns.Spec.Finalizers = nil
	require.Empty(t, must(namespaces.Finalize(c.Context(), ns, metav1.UpdateOptions{})).Spec.Finalizers)
}

func TestDelete_APodOnANodeHasItsGrace(t *testing.T) {
	c := start(t, apiserver.Options{PodGrace: true})
	pods := c.clientset("").CoreV1().Pods("default")
	create := func(node string, finalizers ...string) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Finalizers: finalizers}}
		pod.Spec.NodeName, pod.Spec.Containers = node, []corev1.Container{{Name: "web", Image: "web"}}
		_, err := pods.Create(c.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	// graceAfter deletes the Pod, and returns the seconds that it has, or -1 if it is gone.
	graceAfter := func(opts metav1.DeleteOptions) int64 {
		require.NoError(t, pods.Delete(c.Context(), "web", opts))
		pod, err := pods.Get(c.Context(), "web", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return -1
		}
		require.NoError(t, err)
		return *pod.DeletionGracePeriodSeconds
	}
	for range 2 {
		create("node")
		require.EqualValues(t, 30, graceAfter(metav1.DeleteOptions{}))
		require.EqualValues(t, 30, graceAfter(metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](60)}))
		require.EqualValues(t, 5, graceAfter(metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](5)}))
		require.EqualValues(t, -1, graceAfter(metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
	}
	create("")
	require.EqualValues(t, -1, graceAfter(metav1.DeleteOptions{}), "nobody has to end it")

	create("node", "example.com/hold")
	require.EqualValues(t, 30, graceAfter(metav1.DeleteOptions{}))
	_, err := pods.Patch(c.Context(), "web", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 30, graceAfter(metav1.DeleteOptions{}), "without finalizers it still has its grace")
	ended := []byte(`{"status":{"phase":"Failed"}}`)
	_, err = pods.Patch(c.Context(), "web", types.MergePatchType, ended, metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.EqualValues(t, 30, graceAfter(metav1.DeleteOptions{}), "it has ended, and the first deletion's grace goes on")
	require.EqualValues(t, 1, graceAfter(metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](-1)}))
	require.EqualValues(t, -1, graceAfter(metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))

	create("node")
	_, err = pods.Patch(c.Context(), "web", types.MergePatchType, ended, metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.EqualValues(t, -1, graceAfter(metav1.DeleteOptions{}), "it had ended before")
}

// A shorter grace counts from the first deletion. If it is over already, a moment is left.
func TestDelete_AShorterGraceOfAPodCountsFromItsDeletion(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{PodGrace: true}, func(t *testing.T, c *apiservertest.Server) {
		pods := c.Client.CoreV1().Pods("default")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		pod.Spec.NodeName, pod.Spec.Containers = "node", []corev1.Container{{Name: "web", Image: "web"}}
		_, err := pods.Create(c.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
		deleted := time.Now()
		for _, step := range []struct{ asked, grace, after time.Duration }{{30, 30, 30}, {15, 15, 15}, {12, 1, 20}} {
			seconds := int64(step.asked)
			require.NoError(t, pods.Delete(c.Context(), "web", metav1.DeleteOptions{GracePeriodSeconds: &seconds}))
			pod, err := pods.Get(c.Context(), "web", metav1.GetOptions{})
			require.NoError(t, err)
			require.EqualValues(t, step.grace, *pod.DeletionGracePeriodSeconds)
			require.WithinDuration(t, deleted.Add(step.after*time.Second), pod.DeletionTimestamp.Time, time.Second)
			apiservertest.Pass(10 * time.Second)
		}
	})
}

func TestDelete_InTheForegroundAPodKeepsItsGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, apiserver.Options{PodGrace: true})
		pods := c.Client.CoreV1().Pods("default")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		pod.Spec.NodeName, pod.Spec.Containers = "node", []corev1.Container{{Name: "web", Image: "web"}}
		_, err := pods.Create(c.Context(), pod, metav1.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, pods.Delete(c.Context(), "web", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationForeground)}))
		apiservertest.Pass(time.Second)
		pod, err = pods.Get(c.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		require.Empty(t, pod.Finalizers)
		require.EqualValues(t, 30, *pod.DeletionGracePeriodSeconds)
	})
}
