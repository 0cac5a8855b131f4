package chaos

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// The schedules ask what may never happen. This is one history whose calls are known exactly: five hours with an outage,
// hourly resyncs, a handler that is added late, and the end.
func TestHours_EachCallIsTheOneExpected(t *testing.T) {
	for name, queue := range map[string]sharedinformer.QueueKind{"in order": sharedinformer.InOrder, "per key": sharedinformer.PerKey} {
		t.Run(name, func(t *testing.T) {
			apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, s *apiservertest.Server) { fiveHours(t, s, queue) })
		})
	}
}

func fiveHours(t *testing.T, s *apiservertest.Server, queue sharedinformer.QueueKind) {
	s.Put("a", "1")
	s.Put("b", "1")
	source := s.ConfigMaps(listwatch.Options{})
	informer := sharedinformer.New(source, sharedinformer.Options[object]{ResyncPeriod: time.Hour, Queue: queue})
	first, late := &diary{t: t}, &diary{t: t}
	_, err := informer.AddHandler(first, sharedinformer.HandlerOptions{})
	require.NoError(t, err)
	stop := apiservertest.Go(t, informer.Run)
	first.expect("add a=1 initial", "add b=1 initial")

	s.Put("a", "2")
	first.expect("update a=1→2")
	s.Put("c", "1")
	s.Delete("c")
	first.expect("add c=1", "delete c=1")

	// The network is away. The deletion of b is missed, and so is the history that has it.
	for _, verb := range []string{"list", "watch"} {
		s.Faults().FailNext(-1, apiserver.Failure{Verb: verb, Resource: "configmaps"})
	}
	s.Faults().BreakWatches()
	<-time.After(10 * time.Second)
	s.Delete("b")
	s.Put("d", "1")
	s.Put("a", "3")
	s.Faults().Compact()
	first.expect()
	require.Error(t, informer.LastError())
	s.Faults().Reset()
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
	s.Put("a", "4")
	first.expect("update a=3→4")
	late.expect("update a=3→4")
	<-time.After(time.Hour)
	first.expect("update a=4→4", "update d=1→1")
	late.expect()

	stop()
	s.Put("a", "5")
	first.expect()
	late.expect()
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
	d.note("add %s=%s%s", obj.Name, obj.Data["value"], of)
}

func (d *diary) OnUpdate(before, now object) {
	d.note("update %s=%s→%s", now.Name, before.Data["value"], now.Data["value"])
}

func (d *diary) OnDelete(of sharedinformer.Deletion[object]) {
	known := ""
	if of.FinalStateUnknown {
		known = ", final state unknown"
	}
	d.note("delete %s=%s%s", of.Key.Name, of.Obj.Data["value"], known)
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
