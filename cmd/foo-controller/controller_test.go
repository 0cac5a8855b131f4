package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"glasswatch/cmd/foo-controller/api/v1alpha1"
	"glasswatch/cmd/foo-controller/client"
	"glasswatch/cmd/internal/operator"
	"glasswatch/internal/apiserver"
)

func TestNewDeployment_IsOwnedSelectsItsPodsAndIsAFunctionOfTheFoo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z]{1,9}`)
		foo := &v1alpha1.Foo{ObjectMeta: metav1.ObjectMeta{Namespace: name.Draw(t, "namespace"),
			Name: name.Draw(t, "name"), UID: "1"},
			Spec: v1alpha1.FooSpec{DeploymentName: name.Draw(t, "deployment"),
				Replicas: rapid.Ptr(rapid.Int32Range(1, 10), true).Draw(t, "replicas")}}
		before := foo.DeepCopy()
		d := newDeployment(foo)
		require.Equal(t, before, foo, "it is the cache's")
		require.Equal(t, d, newDeployment(before))
		require.Equal(t, []string{foo.Namespace, foo.Spec.DeploymentName}, []string{d.Namespace, d.Name})
		require.Equal(t, foo.Spec.Replicas, d.Spec.Replicas)
		require.True(t, metav1.IsControlledBy(d, foo))
		require.Equal(t, d.Spec.Template.Labels, d.Spec.Selector.MatchLabels)
		other := foo.DeepCopy()
		other.Name += "x"
		require.NotEqual(t, d.Spec.Selector, newDeployment(other).Spec.Selector, "two Foos share no Pods")
	})
}

// created is what is written for a new Foo "web": at first 0 replicas are available.
var created = []string{"POST deployments", "PUT foos/web/status", "PUT foos/web/status"}

func TestWrites_AreAsFewAsNeededAndAResyncOnlyRecordsAnEvent(t *testing.T) {
	in(t, operator.Parts{Workers: 2}, func(t *testing.T, w *world) {
		w.create("web", "web", 2)
		require.Equal(t, created, w.wrote())
		before := w.events()[0].Count
		<-time.After(2 * time.Minute)
		require.Empty(t, w.wrote())
		require.Len(t, w.events(), 1, "equal Events are counted up")
		require.Equal(t, before+4, w.events()[0].Count)
	})
}

func TestScale_KeepsWhatOthersHaveWritten(t *testing.T) {
	in(t, operator.Parts{}, func(t *testing.T, w *world) {
		w.create("web", "web", 2)
		w.wrote()
		d := w.deployment("web")
		d.Annotations = map[string]string{"by": "hand"}
		d.Spec.Template.Spec.Containers[0].Image = "nginx:1.27"
		_, err := w.kube.AppsV1().Deployments("default").Update(t.Context(), d, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.Empty(t, w.wrote())
		w.edit("web", func(foo *v1alpha1.Foo) { foo.Spec.Replicas = new(int32(3)) })
		require.Equal(t, []string{"PUT deployments/web", "PUT foos/web/status"}, w.wrote())
		d = w.deployment("web")
		require.Equal(t, "hand", d.Annotations["by"])
		require.Equal(t, "nginx:1.27", d.Spec.Template.Spec.Containers[0].Image)
		require.EqualValues(t, 3, *w.foo("web").Status.AvailableReplicas)
	})
}

func TestScale_IsRetriedWhereTheDeploymentHasChangedMeanwhile(t *testing.T) {
	in(t, operator.Parts{}, func(t *testing.T, w *world) {
		w.create("web", "web", 2)
		w.wrote()
		w.server.Faults().FailNext(2, apiserver.Failure{Verb: "update", Resource: "deployments",
			Code: http.StatusConflict})
		w.edit("web", func(foo *v1alpha1.Foo) { foo.Spec.Replicas = new(int32(3)) })
		require.Equal(t, []string{"PUT deployments/web", "PUT foos/web/status"}, w.wrote())
		require.EqualValues(t, 3, *w.foo("web").Status.AvailableReplicas)
		require.GreaterOrEqual(t, len(w.log.lines), 2)
		require.True(t, strings.HasPrefix(w.log.lines[0], `"Error syncing; requeuing for later retry"`))
	})
}

func TestAFooWithoutReplicasLeavesThemToOthers(t *testing.T) {
	in(t, operator.Parts{}, func(t *testing.T, w *world) {
		w.create("web", "web", 2)
		w.wrote()
		w.edit("web", func(foo *v1alpha1.Foo) { foo.Spec.Replicas = nil })
		w.wrote()
		d := w.deployment("web")
		d.Spec.Replicas = new(int32(5))
		_, err := w.kube.AppsV1().Deployments("default").Update(t.Context(), d, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{"PUT foos/web/status"}, w.wrote())
		require.EqualValues(t, 5, *w.foo("web").Status.AvailableReplicas)
	})
}

func TestADeletedFooGetsNoDeploymentAndIsNotMissed(t *testing.T) {
	in(t, operator.Parts{}, func(t *testing.T, w *world) {
		w.create("web", "web", 2)
		w.wrote()
		w.edit("web", func(foo *v1alpha1.Foo) { foo.Finalizers = []string{"example.com/held"} })
		w.wrote()
		require.NoError(t, w.foos.Delete(t.Context(), "web", metav1.DeleteOptions{}))
		w.wrote()
		require.NoError(t, w.kube.AppsV1().Deployments("default").Delete(t.Context(), "web", metav1.DeleteOptions{}))
		require.Empty(t, w.wrote(), "it is on its way out")
		w.edit("web", func(foo *v1alpha1.Foo) { foo.Finalizers = nil })
		w.create("other", "other", 1)
		require.Len(t, w.wrote(), 3)
		require.NoError(t, w.foos.Delete(t.Context(), "other", metav1.DeleteOptions{}))
		require.Empty(t, w.wrote(), "the garbage collector deletes the Deployment")
		list, err := w.kube.AppsV1().Deployments("default").List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Empty(t, list.Items)
		require.NotContains(t, strings.Join(w.log.lines, "\n"), "no longer exists", "a deletion is no error")
	})
}

func TestOwner_OfAnotherGroupIsNoFoo(t *testing.T) {
	in(t, operator.Parts{}, func(t *testing.T, w *world) {
		w.create("web", "web", 1)
		w.wrote()
		seen := w.events()[0].Count
		stray := newDeployment(w.foo("web"))
		stray.Name, stray.OwnerReferences[0].APIVersion = "stray", "example.com/v1"
		_, err := w.kube.AppsV1().Deployments("default").Create(t.Context(), stray, metav1.CreateOptions{})
		require.NoError(t, err)
		w.wrote()
		require.Equal(t, seen, w.events()[0].Count, "Foo web was synced for a Deployment that is not its own")
	})
}

func TestStandby_FillsItsCachesAndWritesOnlyWhenItMay(t *testing.T) {
	in(t, operator.Parts{MayWrite: make(chan struct{})}, func(t *testing.T, w *world) {
		w.create("web", "web", 1)
		require.Empty(t, w.wrote())
		require.NoError(t, w.c.Ready())
		close(w.may)
		require.Equal(t, created, w.wrote())
	})
}

func TestReady_NamesTheKindThatCannotBeReadAndHeals(t *testing.T) {
	in(t, operator.Parts{}, func(t *testing.T, w *world) {
		w.wrote()
		require.NoError(t, w.c.Ready())
		w.server.Faults().FailNext(3, apiserver.Failure{Resource: "foos", Code: http.StatusForbidden})
		w.server.Faults().DropWatches()
		w.wrote()
		require.ErrorContains(t, w.c.Ready(), "foos: synced true")
		require.NotContains(t, w.c.Ready().Error(), "deployments")
		<-time.After(time.Hour)
		require.NoError(t, w.c.Ready())
	})
}

func TestStatus_SaysZeroIfNothingGetsAvailable(t *testing.T) {
	in(t, operator.Parts{}, func(t *testing.T, w *world) {
		w.actor.Hold("web")
		w.create("web", "web", 2)
		require.Equal(t, created[:2], w.wrote())
		require.Equal(t, new(int32), w.foo("web").Status.AvailableReplicas)
	})
}

func TestAPanic_FailsOneKeyAndTellsItsStack(t *testing.T) {
	in(t, operator.Parts{}, func(t *testing.T, w *world) {
		w.wrote()
		w.c.client = func(string) *client.Foos { panic("no client") }
		w.create("web", "web", 2)
		w.wrote()
		require.NotEmpty(t, w.log.lines)
		require.Contains(t, w.log.lines[0], "Observed a panic")
		require.Contains(t, strings.Join(w.log.lines, "\n"), "sync.go")
		require.Contains(t, strings.Join(w.log.lines, "\n"), `"Error syncing; requeuing for later retry"`)
	})
}

func TestLog_HasUpstreamsLinesOfTheStartAndTheEnd(t *testing.T) {
	in(t, operator.Parts{MayWrite: make(chan struct{})}, func(t *testing.T, w *world) {
		lines := make(chan string, 100)
		logger := funcr.New(func(_, args string) { lines <- args }, funcr.Options{})
		c, err := New(w.cfg, operator.Parts{}, 0)
		require.NoError(t, err)
		release := make(chan struct{})
		c.client = func(namespace string) *client.Foos { // a sync takes its time
			<-release
			return w.foos
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(klog.NewContext(ctx, logger)) }()
		synctest.Wait()
		w.create("web", "web", 1)
		synctest.Wait()
		stop()
		synctest.Wait()
		want := []string{"Starting Foo controller", "Waiting for informer caches to sync", "Starting workers",
			"Started workers", "Shutting down workers"}
		var got []string
		for len(lines) > 0 {
			line := <-lines
			for _, text := range want {
				if strings.Contains(line, `"`+text+`"`) {
					got = append(got, text)
				}
			}
		}
		require.Equal(t, want, got)
		require.Empty(t, ended, "a worker is at work")
		close(release)
		require.NoError(t, <-ended)
	})
}
