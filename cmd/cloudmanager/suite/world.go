package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/cmd/cloudmanager/desired"
	"glasswatch/internal/actors"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/custom"
)

// world is a namespace of a cluster with an operator at work on it. Its verbs end the test if they fail.
type world struct {
	t       *testing.T
	impl    Implementation
	cfg     *rest.Config // of a user that may do everything
	virtual bool         // time
	*wire
	*watches

	namespace string
	kube      kubernetes.Interface
	managers  *gentype.ClientWithList[*v1.CloudManager, *v1.CloudManagerList]
	actors    *actors.Workloads // of this namespace
	stopActor func()
	stop      func() // the operator; nil while it does not run
}

// newWorld makes a namespace with actors. The operator is not started yet.
func newWorld(t *testing.T, impl Implementation, cfg *rest.Config) *world {
	ctx := context.Background()
	cfg.QPS = -1
	w := &world{
		t: t, impl: impl, cfg: cfg, wire: &wire{writes: map[string]int{}, conflicts: map[string]int{}}, stop: func() {},
		watches: &watches{held: map[string]chan struct{}{}, brought: map[string]*strings.Builder{}},
	}
	var err error
	w.kube, err = kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	ns, err := w.kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "cloud-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.namespace = ns.Name
	clients, err := custom.NewClient[v1.CloudManager, v1.CloudManagerList](cfg, v1.Scheme, v1.Resource)
	require.NoError(t, err)
	w.managers = clients(w.namespace)
	require.NoError(t, custom.Define(ctx, cfg, v1.Definition))

	w.actors = actors.New(w.kube, w.namespace)
	w.stopActor = w.background(func(ctx context.Context) error {
		return w.actors.Run(klog.NewContext(ctx, logr.Discard()))
	})
	return w
}

// background runs something until the function that it returns is called, or the test ends.
func (w *world) background(run func(ctx context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); !stopped {
			stopped = true
			require.NoError(w.t, <-ended)
		}
	}
	w.t.Cleanup(stop)
	return stop
}

// start starts the operator, stop ends it.
func (w *world) start() {
	cfg := rest.CopyConfig(w.cfg)
	cfg.Wrap(w.wire.wrap)
	cfg.Wrap(w.watches.wrap)
	w.stop = w.background(func(ctx context.Context) error { return w.impl.Start(ctx, cfg, w.namespace) })
}

// create makes a CloudManager. Without a prefix its children have the names of the tutorial.
func (w *world) create(name, prefix string, mutate ...func(*v1.CloudManager)) {
	w.t.Helper()
	cm := desired.Example(name)
	spec := &cm.Spec
	for _, child := range []*string{
		&spec.Front.Deployment.Name, &spec.Identity.Deployment.Name, &spec.DB.StatefulSet.Name,
	} {
		*child = prefix + *child
	}
	for _, m := range mutate {
		m(cm)
	}
	_, err := w.managers.Create(context.Background(), cm, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func (w *world) get(name string) *v1.CloudManager {
	w.t.Helper()
	cm, err := w.managers.Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return cm
}

// patient is for edits beside an operator and actors that write to the same object.
var patient = wait.Backoff{Steps: 20, Duration: 3 * time.Millisecond, Factor: 1.3, Jitter: 0.5}

// change edits the spec, as a user does.
func (w *world) change(name string, mutate func(*v1.CloudManager)) {
	w.t.Helper()
	require.NoError(w.t, retry.RetryOnConflict(patient, func() error {
		cm := w.get(name)
		mutate(cm)
		_, err := w.managers.Update(context.Background(), cm, metav1.UpdateOptions{})
		return err
	}))
}

func (w *world) delete(name string) {
	w.t.Helper()
	require.NoError(w.t, w.managers.Delete(context.Background(), name, metav1.DeleteOptions{}))
}

// says waits until a condition of the present spec has this reason.
func (w *world) says(name, condition, reason string) {
	w.t.Helper()
	w.eventually(name+" says "+reason, func() error { return says(w.get(name), condition, reason) })
}

func says(cm *v1.CloudManager, condition, reason string) error {
	c := meta.FindStatusCondition(cm.Status.Conditions, condition)
	if c == nil || c.Reason != reason || c.ObservedGeneration != cm.Generation ||
		cm.Status.ObservedGeneration != cm.Generation {
		return fmt.Errorf("generation %d, status %+v", cm.Generation, cm.Status)
	}
	return nil
}

// runs waits until all is ready and nothing is wrong.
func (w *world) runs(name string) {
	w.t.Helper()
	w.eventually(name+" runs", func() error {
		cm := w.get(name)
		err := errors.Join(says(cm, v1.ConditionReady, desired.ReasonReady),
			says(cm, v1.ConditionReconciled, desired.ReasonReconciled))
		if err == nil && cm.Status.Phase != v1.PhaseRunning {
			err = fmt.Errorf("phase %s", cm.Status.Phase)
		}
		return err
	})
}

func (w *world) eventually(what string, f func() error) {
	w.t.Helper()
	apiservertest.Eventually(w.t, what, f)
}

// quiet lets an hour pass and wants no write of the operator in it. In real time it does nothing.
func (w *world) quiet() {
	w.t.Helper()
	if !w.virtual {
		return
	}
	<-time.After(time.Minute) // Events and status may still be on their way
	synctest.Wait()
	before := w.count("")
	<-time.After(time.Hour)
	synctest.Wait()
	require.Equal(w.t, before, w.count(""), "writes: %v", w.writes)
}

// find returns a child, or nil if there is none.
func (w *world) find(kind, name string) desired.Object {
	w.t.Helper()
	var obj desired.Object
	var err error
	ctx := context.Background()
	switch kind {
	case "deployment":
		obj, err = w.kube.AppsV1().Deployments(w.namespace).Get(ctx, name, metav1.GetOptions{})
	case "statefulset":
		obj, err = w.kube.AppsV1().StatefulSets(w.namespace).Get(ctx, name, metav1.GetOptions{})
	case "service":
		obj, err = w.kube.CoreV1().Services(w.namespace).Get(ctx, name, metav1.GetOptions{})
	case "secret":
		obj, err = w.kube.CoreV1().Secrets(w.namespace).Get(ctx, name, metav1.GetOptions{})
	case "claim":
		obj, err = w.kube.CoreV1().PersistentVolumeClaims(w.namespace).Get(ctx, name, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(w.t, err)
	return obj
}

func (w *world) exists(kind, name string) {
	w.t.Helper()
	w.eventually(kind+" "+name+" exists", func() error {
		if w.find(kind, name) == nil {
			return errors.New("it does not")
		}
		return nil
	})
}

func (w *world) isGone(kind, name string) {
	w.t.Helper()
	w.eventually(kind+" "+name+" is gone", func() error {
		if obj := w.find(kind, name); obj != nil {
			return fmt.Errorf("it is there: %v", obj.GetOwnerReferences())
		}
		return nil
	})
}

// edit changes a child by hand.
func edit[T desired.Object](w *world, kind, name string, mutate func(T)) {
	w.t.Helper()
	require.NoError(w.t, retry.RetryOnConflict(patient, func() error {
		obj := w.find(kind, name).(T)
		mutate(obj)
		return w.update(obj)
	}))
}

func (w *world) update(obj desired.Object) (err error) {
	ctx := context.Background()
	switch o := obj.(type) {
	case *appsv1.Deployment:
		_, err = w.kube.AppsV1().Deployments(w.namespace).Update(ctx, o, metav1.UpdateOptions{})
	case *appsv1.StatefulSet:
		_, err = w.kube.AppsV1().StatefulSets(w.namespace).Update(ctx, o, metav1.UpdateOptions{})
	case *corev1.Service:
		_, err = w.kube.CoreV1().Services(w.namespace).Update(ctx, o, metav1.UpdateOptions{})
	case *corev1.Secret:
		_, err = w.kube.CoreV1().Secrets(w.namespace).Update(ctx, o, metav1.UpdateOptions{})
	}
	return err
}

// becomes waits until a child is as ok wants it.
func becomes[T desired.Object](w *world, kind, name string, ok func(T) bool) {
	w.t.Helper()
	w.eventually(kind+" "+name+" is as it should be", func() error {
		obj, found := w.find(kind, name).(T)
		if !found || !ok(obj) {
			return fmt.Errorf("it is not: %+v", obj)
		}
		return nil
	})
}

// remove deletes a child by hand.
func (w *world) remove(kind, name string) {
	w.t.Helper()
	ctx := context.Background()
	err := map[string]func() error{
		"deployment": func() error {
			return w.kube.AppsV1().Deployments(w.namespace).Delete(ctx, name, metav1.DeleteOptions{})
		},
		"statefulset": func() error {
			return w.kube.AppsV1().StatefulSets(w.namespace).Delete(ctx, name, metav1.DeleteOptions{})
		},
		"service": func() error {
			return w.kube.CoreV1().Services(w.namespace).Delete(ctx, name, metav1.DeleteOptions{})
		},
		"secret": func() error {
			return w.kube.CoreV1().Secrets(w.namespace).Delete(ctx, name, metav1.DeleteOptions{})
		},
	}[kind]()
	require.NoError(w.t, err)
}
