package cache

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// fakeConfigMaps lists and watches a fake clientset's, and says so as generated informers do.
func (c *transcript) fakeConfigMaps(clientset *fake.Clientset) ListerWatcher {
	client := clientset.CoreV1().ConfigMaps("")
	lw := c.noted(&ListWatch{
		ListWithContextFunc:  listOf(client.List),
		WatchFuncWithContext: client.Watch,
	})
	return ToListWatcherWithWatchListSemantics(lw, clientset)
}

// reactToLists lets react answer lists while it returns something.
func reactToLists(clientset *fake.Clientset, react func() (runtime.Object, error)) {
	clientset.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		obj, err := react()
		return obj != nil || err != nil, obj, err
	})
}

// reactToWatches answers the first watches with answers: errors or watches.
func reactToWatches(clientset *fake.Clientset, answers ...any) {
	clientset.PrependWatchReactor("configmaps", func(clienttesting.Action) (bool, watch.Interface, error) {
		if len(answers) == 0 {
			return false, nil, nil
		}
		answer := answers[0]
		answers = answers[1:]
		if err, failed := answer.(error); failed {
			return true, nil, err
		}
		return true, answer.(watch.Interface), nil
	})
}

// withReactors are fake clientsets that a test has told what to answer.
var withReactors = stories{
	"a list that fails": func(t *testing.T, c *transcript) {
		clientset, errs := fake.NewClientset(configMap("a", "")), []error{errors.New("x"), errors.New("y")}
		reactToLists(clientset, func() (runtime.Object, error) { return nil, pop(&errs) })
		informer := c.informer(t, c.fakeConfigMaps(clientset))
		stop := running(informer.RunWithContext)
		pass(time.Minute)
		c.state(informer)
		stop()
	},
	"a list that takes long": func(t *testing.T, c *transcript) {
		clientset, began := fake.NewClientset(configMap("a", "")), time.Now()
		reactToLists(clientset, func() (runtime.Object, error) { <-time.After(5 * time.Second); return nil, nil })
		informer := c.informer(t, c.fakeConfigMaps(clientset))
		defer running(informer.RunWithContext)()
		pass(time.Second)
		c.state(informer)
		for !informer.HasSynced() {
			pass(time.Millisecond)
		}
		c.write("%v", time.Since(began))
	},
	"a list of other objects than the tracker's": func(t *testing.T, c *transcript) {
		clientset := fake.NewClientset(configMap("a", ""))
		reactToLists(clientset, func() (runtime.Object, error) {
			return &corev1.ConfigMapList{Items: []corev1.ConfigMap{*configMap("z", "77"), *configMap("", "")}}, nil
		})
		informer := c.informer(t, c.fakeConfigMaps(clientset))
		defer running(informer.RunWithContext)()
		_, err := clientset.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("n", "7"), metav1.CreateOptions{})
		require.NoError(t, err)
		synctest.Wait()
		c.state(informer)
	},
	"a watch that is refused": func(t *testing.T, c *transcript) {
		for _, err := range []error{
			errors.New("x"), apierrors.NewResourceExpired("expired"), apierrors.NewTooManyRequests("busy", 0),
			apierrors.NewInternalError(errors.New("x")), apierrors.NewBadRequest("x"), apierrors.NewUnauthorized("x"),
		} {
			clientset := fake.NewClientset(configMap("a", ""))
			reactToWatches(clientset, err, err)
			informer := c.informer(t, c.fakeConfigMaps(clientset))
			stop := running(informer.RunWithContext)
			pass(time.Minute)
			_, err := clientset.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("n", "7"), metav1.CreateOptions{})
			require.NoError(t, err)
			pass(time.Minute)
			c.state(informer)
			stop()
		}
	},
	"a watch whose events the test sends": func(t *testing.T, c *transcript) {
		clientset, w := fake.NewClientset(configMap("a", "")), watch.NewFake()
		reactToWatches(clientset, w)
		informer := c.informer(t, c.fakeConfigMaps(clientset))
		stop := running(informer.RunWithContext)
		w.Add(configMap("b", "3"))
		w.Modify(configMap("b", "3"))
		w.Modify(configMap("c", "4"))
		w.Delete(configMap("b", "x"))
		synctest.Wait()
		c.state(informer)
		stop()
		c.write("stopped %v", w.IsStopped())
	},
	"watches that the test stops": func(t *testing.T, c *transcript) {
		clientset := fake.NewClientset(configMap("a", ""))
		first, second, third := watch.NewFake(), watch.NewFakeWithChanSize(5, false), watch.NewRaceFreeFake()
		reactToWatches(clientset, first, second, third)
		informer := c.informer(t, c.fakeConfigMaps(clientset))
		defer running(informer.RunWithContext)()
		first.Add(configMap("b", "9"))
		first.Stop()
		pass(time.Minute)
		second.Add(configMap("c", "13"))
		pass(2 * time.Second)
		second.Stop()
		pass(time.Minute)
		third.Stop()
		pass(time.Minute)
		c.state(informer)
	},
	"watches that the test ends with an error": func(t *testing.T, c *transcript) {
		for _, status := range []runtime.Object{
			&apierrors.NewResourceExpired("x").ErrStatus, &apierrors.NewInternalError(errors.New("x")).ErrStatus,
			nil, &corev1.Pod{}, &metav1.Status{},
		} {
			clientset, w := fake.NewClientset(configMap("a", "")), watch.NewFake()
			reactToWatches(clientset, w)
			informer := c.informer(t, c.fakeConfigMaps(clientset))
			stop := running(informer.RunWithContext)
			w.Add(configMap("b", "3"))
			w.Error(status)
			pass(time.Minute)
			c.state(informer)
			stop()
		}
	},
	"events that are none": func(t *testing.T, c *transcript) {
		clientset, w := fake.NewClientset(configMap("a", "")), watch.NewFakeWithChanSize(20, false)
		reactToWatches(clientset, w)
		informer := c.informer(t, c.fakeConfigMaps(clientset))
		defer running(informer.RunWithContext)()
		w.Action("", configMap("q", "1"))
		w.Action("GROWN", configMap("q", "1"))
		w.Add(nil)
		w.Add(&corev1.Pod{})
		w.Action(watch.Bookmark, configMap("", "5"))
		w.Action(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "50"}})
		w.Add(configMap("z", "53"))
		w.Add(configMap("z", "53"))
		w.Modify(configMap("y", "54"))
		synctest.Wait()
		c.state(informer)
	},
	"a watch with a filter": func(t *testing.T, c *transcript) {
		clientset, w := fake.NewClientset(configMap("a", "1")), watch.NewRaceFreeFake()
		reactToWatches(clientset, watch.Filter(w, func(in watch.Event) (watch.Event, bool) {
			return in, brief(in.Object) != "hidden@3"
		}))
		informer := c.informer(t, c.fakeConfigMaps(clientset))
		stop := running(informer.RunWithContext)
		w.Add(configMap("seen", "2"))
		w.Add(configMap("hidden", "3"))
		w.Modify(configMap("seen", "4"))
		synctest.Wait()
		c.state(informer)
		stop()
		c.write("stopped %v", w.IsStopped())
	},
}

func TestReactors_AreAnsweredAsByClientGo(t *testing.T) { withReactors.compare(t) }
