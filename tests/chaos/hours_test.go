package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// The schedules ask what may never happen. This is one history whose calls are known exactly: five hours with an outage,
// hourly resyncs, a handler that is added late, and the end.
func TestHours_EachCallIsTheOneExpected(t *testing.T) {
	for name, queue := range map[string]sharedinformer.QueueKind{"in order": sharedinformer.InOrder, "per key": sharedinformer.PerKey} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { fiveHours(t, queue) })
		})
	}
}

func fiveHours(t *testing.T, queue sharedinformer.QueueKind) {
	serving, stopServer := context.WithCancel(t.Context())
	listener, server, served := apiserver.NewPipeListener(), apiserver.New(apiserver.Options{}), make(chan error, 1)
	go func() { served <- server.Serve(serving, listener) }()
	cfg := server.RESTConfigFor(listener)
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	source, err := listwatch.NewForConfig[object](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"),
		listwatch.Options{Namespace: "default"})
	require.NoError(t, err)
	maps := client.CoreV1().ConfigMaps("default")
	configMap := func(name, value string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"v": value}}
	}
	create := func(name string) {
		t.Helper()
		_, err := maps.Create(t.Context(), configMap(name, "1"), metav1.CreateOptions{})
		require.NoError(t, err)
	}
	put := func(name, value string) {
		t.Helper()
		_, err := maps.Update(t.Context(), configMap(name, value), metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	remove := func(name string) {
		t.Helper()
		require.NoError(t, maps.Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	create("a")
	create("b")
	informer := sharedinformer.New(source, sharedinformer.Options[object]{ResyncPeriod: time.Hour, Queue: queue})
	first, late := &diary{t: t}, &diary{t: t}
	_, err = informer.AddHandler(first, sharedinformer.HandlerOptions{})
	require.NoError(t, err)
	running, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- informer.Run(running) }()
	first.expect("add a=1 initial", "add b=1 initial")

	put("a", "2")
	first.expect("update a=1→2")
	create("c")
	remove("c")
	first.expect("add c=1", "delete c=1")

	// The network is away. The deletion of b is missed, and so is the history that has it.
	for _, verb := range []string{"list", "watch"} {
		server.Faults().FailNext(-1, apiserver.Failure{Verb: verb, Resource: "configmaps"})
	}
	server.Faults().BreakWatches()
	<-time.After(10 * time.Second)
	remove("b")
	create("d")
	put("a", "3")
	server.Faults().Compact()
	first.expect()
	require.Error(t, informer.LastError())
	server.Faults().Reset()
	<-time.After(time.Minute)
	require.NoError(t, informer.LastError())
	first.expect("update a=2→3", "add d=1", "delete b=1, final state unknown")

	// Watches end and are taken up where they were. Nothing is told but the resyncs.
	for range 5 {
		<-time.After(time.Hour)
		first.expect("update a=3→3", "update d=1→1")
	}
	_, err = informer.AddHandler(late, sharedinformer.HandlerOptions{ResyncPeriod: sharedinformer.NoResync})
	require.NoError(t, err)
	late.expect("add a=3 initial", "add d=1 initial")
	put("a", "4")
	first.expect("update a=3→4")
	late.expect("update a=3→4")
	<-time.After(time.Hour)
	first.expect("update a=4→4", "update d=1→1")
	late.expect()

	stop()
	require.NoError(t, <-ended)
	put("a", "5")
	first.expect()
	late.expect()
	stopServer()
	require.NoError(t, <-served)
}

// diary is a handler that notes its calls until they are expected.
type diary struct {
	t     *testing.T
	mu    sync.Mutex // guards lines
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) OnAdd(obj object, initial bool) {
	of := ""
	if initial {
		of = " initial"
	}
	d.note("add %s=%s%s", obj.Name, obj.Data["v"], of)
}

func (d *diary) OnUpdate(before, now object) {
	d.note("update %s=%s→%s", now.Name, before.Data["v"], now.Data["v"])
}

func (d *diary) OnDelete(of sharedinformer.Deletion[object]) {
	known := ""
	if of.FinalStateUnknown {
		known = ", final state unknown"
	}
	d.note("delete %s=%s%s", of.Key.Name, of.Obj.Data["v"], known)
}

// expect waits until all is quiet, and wants these calls since it was called last, in any order.
func (d *diary) expect(calls ...string) {
	d.t.Helper()
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.Sort(calls)
	slices.Sort(d.lines)
	require.Equal(d.t, calls, d.lines)
	d.lines = nil
}
