package sharedinformer

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"

	"glasswatch/listwatch"
)

func TestHandler_PanicCostsOneCallIfTheProcessSurvivesIt(t *testing.T) {
	really, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	defer func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = really, handlers }()
	utilruntime.ReallyCrash = false
	var logged []any
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, p any) { logged = append(logged, p) }}
	bothQueues(t, Options[*config]{}, func(s *story) {
		logged = nil
		r := newRecorder()
		r.during = func(what string) {
			if strings.HasPrefix(what, "add b") {
				panic(what)
			}
		}
		reg := s.Add(r, HandlerOptions{})
		for _, name := range []string{"a", "b", "c"} {
			s.server.Put(name, "1")
		}
		s.Start()
		require.Len(s, logged, 1)
		require.Equal(s, []string{"add a@1 initial", "add b@2 initial"}, r.take())
		s.Pass(crashPause)
		s.Expect(r, "add c@3 initial")
		require.True(s, reg.HasSynced(), "a panic on an initial add does not block the sync")
		require.Zero(s, reg.Stats().Depth)

		s.server.Delete("b")
		s.server.Put("b", "1")
		s.server.Put("c", "2")
		s.Settle()
		require.NoError(s, s.informer.RemoveHandler(reg))
		<-reg.Done() // at once, not after the pause
		require.NotContains(s, r.take(), "update c@3→6")
	})
}

func TestInformer_PanicOfAHookCostsThatBatchIfTheProcessSurvivesIt(t *testing.T) {
	really, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	defer func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = really, handlers }()
	utilruntime.ReallyCrash, utilruntime.PanicHandlers = false, nil
	once := func(panicked *bool) {
		if !*panicked {
			*panicked = true
			panic("a hook")
		}
	}
	var panicked bool
	for name, opts := range map[string]Options[*config]{
		"BeforeStore": {BeforeStore: func(key, listwatch.Object) { once(&panicked) }},
		"Observe":     {Observe: func([]observation) { once(&panicked) }},
	} {
		t.Run(name, func(t *testing.T) {
			bothQueues(t, opts, func(s *story) {
				panicked = true
				r := newRecorder()
				s.Add(r, HandlerOptions{})
				s.Start()
				panicked = false
				s.server.Put("a", "1")
				synctest.Wait()
				unlocked := s.informer.fanout.storeAndListeners.TryLock()
				s.informer.fanout.storeAndListeners.Unlock() // in either case, so that the test ends
				require.True(s, unlocked)
				s.server.Put("b", "1")
				s.Pass(crashPause)
				s.Expect(r, "add b@2")
			})
		})
	}
}

func TestHandler_PanicEndsTheProcessByDefault(t *testing.T) {
	handlers := utilruntime.PanicHandlers
	defer func() { utilruntime.PanicHandlers = handlers }()
	utilruntime.PanicHandlers = nil
	require.True(t, utilruntime.ReallyCrash)
	l := newListener(HandlerFuncs[*config]{AddFunc: func(*config, bool) { panic("boom") }}, HandlerOptions{})
	l.backlog.add([]notification[*config]{{kind: added, obj: &config{}}}, all)
	require.PanicsWithValue(t, "boom", func() { l.run(context.Background()) })
}

func TestHandler_PanicIsReportedWithTheHandlersContextOrThatOfRun(t *testing.T) {
	really, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	defer func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = really, handlers }()
	utilruntime.ReallyCrash = false
	type contextKey struct{}
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		var told []any
		utilruntime.PanicHandlers = []func(context.Context, any){func(ctx context.Context, p any) {
			told = append(told, p, ctx.Value(contextKey{}))
		}}
		add := func(who string, ctx context.Context) {
			s.Add(HandlerFuncs[*config]{AddFunc: func(*config, bool) { panic(who) }}, HandlerOptions{Context: ctx})
			s.Settle()
		}
		s.server.Put("a", "1")
		s.Start()
		add("without", nil)
		add("with", context.WithValue(context.Background(), contextKey{}, "its own"))
		require.Equal(s, []any{"without", nil, "with", "its own"}, told)
	})
}

func TestFilteringHandler_ShowsAFilteredWorld(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		r := newRecorder()
		s.Add(FilteringHandler[*config]{FilterFunc: func(obj *config) bool { return obj.Data["value"] == "in" }, Handler: r}, HandlerOptions{})
		s.server.Put("a", "in")
		s.server.Put("b", "out")
		s.Start()
		s.Expect(r, "add a@1 initial")
		s.server.Put("a", "in")
		s.server.Put("b", "out")
		s.server.Put("b", "in")
		s.server.Put("a", "out")
		s.Expect(r, "update a@1→3", "add b@5", "delete a@3")
		s.server.Delete("a")
		s.server.Delete("b")
		s.Expect(r, "delete b@8")
		FilteringHandler[*config]{FilterFunc: func(*config) bool { panic("no object to judge") }, Handler: HandlerFuncs[*config]{}}.
			OnDelete(Deletion[*config]{Key: named("x")})
	})
}

// gossip writes down what both kinds of filtering handlers pass on.
type gossip struct{ said []string }

func (g *gossip) say(what string, objs ...*config) {
	for _, obj := range objs {
		what += " " + obj.ResourceVersion
	}
	g.said = append(g.said, what)
}

func TestFilteringHandler_PassesOnWhatClientGosDoes(t *testing.T) {
	accept := func(obj *config) bool { return obj.Data["value"] == "in" }
	version := func(v, value string) *config {
		obj := &config{Data: map[string]string{"value": value}}
		obj.Name, obj.ResourceVersion = "a", v
		return obj
	}
	var ours, theirs gossip
	here := FilteringHandler[*config]{FilterFunc: accept, Handler: HandlerFuncs[*config]{
		AddFunc:    func(obj *config, initial bool) { ours.say(fmt.Sprint("add ", initial), obj) },
		UpdateFunc: func(older, newer *config) { ours.say("update", older, newer) },
		DeleteFunc: func(d Deletion[*config]) { ours.say(fmt.Sprint("delete ", d.FinalStateUnknown), d.Obj) },
	}}
	there := cache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool { return accept(obj.(*config)) },
		Handler: cache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    func(obj any, initial bool) { theirs.say(fmt.Sprint("add ", initial), obj.(*config)) },
			UpdateFunc: func(older, newer any) { theirs.say("update", older.(*config), newer.(*config)) },
			DeleteFunc: func(obj any) {
				_, unknown := obj.(cache.DeletedFinalStateUnknown)
				theirs.say(fmt.Sprint("delete ", unknown), obj.(*config))
			},
		},
	}
	for _, first := range []string{"in", "out"} {
		older := version("1", first)
		here.OnAdd(older, true)
		there.OnAdd(older, true)
		for _, second := range []string{"in", "out"} {
			newer := version("2", second)
			here.OnUpdate(older, newer)
			there.OnUpdate(older, newer)
		}
		here.OnDelete(Deletion[*config]{Key: listwatch.KeyOf(older), Obj: older})
		there.OnDelete(older)
	}
	require.Equal(t, []string{"add true 1", "update 1 2", "delete false 1", "delete false 1", "add false 2"}, ours.said)
	require.Equal(t, theirs.said, ours.said)
}
