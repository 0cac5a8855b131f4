package differential

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"glasswatch/compat/cache"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/extent"
)

func TestSubstitution_EveryPartTakesThePlaceOfItsCounterpart(t *testing.T) {
	for _, how := range []string{"streaming", "paged"} {
		for _, kind := range queueKinds {
			t.Run(kind+" "+how, func(t *testing.T) {
				setGates(t, script{world: []string{"mode=inorder", how}})
				for _, c := range choices() {
					t.Run(c.String(), func(t *testing.T) { tell(t, c.assemble(kind)) })
				}
			})
		}
	}
}

// choices are all sixteen, or those with one part of ours and with none of theirs.
func choices() []choice {
	if !extent.IsFull() {
		t, o := theirs, ours
		return []choice{{o, t, t, t}, {t, o, t, t}, {t, t, o, t}, {t, t, t, o}, {o, o, o, o}}
	}
	var all []choice
	for _, reflector := range sides {
		for _, queue := range sides {
			for _, store := range sides {
				for _, controller := range sides {
					all = append(all, choice{reflector, queue, store, controller})
				}
			}
		}
	}
	return all
}

// The shared informers and the native one are those of the histories. These have one handler, and no queue that is seen from outside.
func TestSubstitution_EveryWholeInformerTellsTheSameStory(t *testing.T) {
	for _, world := range []script{{world: []string{"resync", "mode=inorder"}}, {world: []string{"resync", "mode=perkey"}},
		{world: []string{"resync", "mode=inorder", "streaming"}}, {world: []string{"resync", "mode=perkey", "streaming"}}} {
		t.Run(strings.Join(world.world, " "), func(t *testing.T) {
			setGates(t, world)
			for _, f := range facades {
				t.Run(f.name+" shared", func(t *testing.T) {
					tell(t, func(g *gate, h *recorder) stack {
						informer, err := newFacade(f.build, g, world)
						require.NoError(t, err)
						return stackOf(t, informer, h, world)
					})
				})
			}
			t.Run("native", func(t *testing.T) {
				tell(t, func(g *gate, h *recorder) stack { return stackOf(t, newNative(g, world), h, world) })
			})
			t.Run("client-go simple", func(t *testing.T) { tell(t, simple(clientgo.NewInformerWithOptions, world)) })
			t.Run("compat simple", func(t *testing.T) { tell(t, simple(cache.NewInformerWithOptions, world)) })
		})
	}
}

// stack is an informer, however it was put together.
type stack struct {
	// run blocks until ctx ends and every goroutine has ended.
	run       func(ctx context.Context)
	hasSynced func() bool
	synced    <-chan struct{}
	// readUpTo is the reflector's resourceVersion, storedUpTo the store's; nil if it does not follow the watch.
	readUpTo, storedUpTo func() string
	contents             func() []string
}

// build puts a stack together that lists and watches through g, resyncs each resyncPeriod and tells h.
type build func(g *gate, h *recorder) stack

func stackOf(t *testing.T, i subject, h *recorder, world script) stack {
	_, err := i.Add(h, "default")
	require.NoError(t, err)
	s := stack{
		run: func(ctx context.Context) { <-i.Start(ctx) }, hasSynced: i.HasSynced, synced: i.Synced(), readUpTo: i.ReadUpTo,
		contents: func() []string {
			return slices.DeleteFunc(i.Store(), func(line string) bool { return strings.HasPrefix(line, "namespace ") })
		},
	}
	if world.mode() == "inorder" {
		s.storedUpTo = i.StoreVersion
	}
	return s
}

func simple(newInformer func(clientgo.InformerOptions) (clientgo.Store, clientgo.Controller), world script) build {
	return func(g *gate, h *recorder) stack {
		store, controller := newInformer(clientgo.InformerOptions{
			ListerWatcher: listerWatcher(g), ObjectType: &corev1.ConfigMap{}, Handler: facadeHandler{h}, ResyncPeriod: resyncPeriod,
		})
		s := stack{
			run: controller.RunWithContext, hasSynced: controller.HasSynced, synced: controller.HasSyncedChecker().Done(),
			readUpTo: controller.LastSyncResourceVersion, contents: func() []string { return contents(store) },
		}
		if world.mode() == "inorder" {
			s.storedUpTo = store.LastStoreSyncResourceVersion
		}
		return s
	}
}

type story struct {
	*testing.T
	server *server
	gate   *gate
	heard  *recorder
	stack  stack
	ended  chan struct{}
	now    map[string]string // the versions of what is there
}

// tell tells the story in a bubble.
func tell(t *testing.T, putTogether build) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{T: t, server: newServer(t), heard: newRecorder(), ended: make(chan struct{}), now: map[string]string{}}
		s.server.pageSize = 2
		s.gate = s.server.gate()
		s.stack = putTogether(s.gate, s.heard)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		s.listsAndSyncs(ctx)
		s.watches()
		s.followsBookmarks()
		s.resumesAfterABreak()
		s.relistsAndFindsWhatIsGone()
		s.resyncs()
		stop()
		<-s.ended
		before := s.now["x/a"]
		s.put("x/a")
		synctest.Wait()
		require.Empty(t, s.heard.take())
		require.ElementsMatch(t, []string{"x/a: " + before, "y/d: " + s.now["y/d"]}, s.stack.contents(), "a store outlives its informer")
	})
}

// put, and remove, return the version of before and of now.
func (s *story) put(key string) (before, now string) {
	before = s.now[key]
	s.now[key] = s.server.put(key)
	return before, s.now[key]
}

func (s *story) update(key string) string {
	before, now := s.put(key)
	return key + ": update " + before + "→" + now
}

func (s *story) add(key string) string {
	_, now := s.put(key)
	return key + ": add " + now
}

func (s *story) remove(key string) string {
	delete(s.now, key)
	return key + ": delete " + s.server.remove(key)
}

// listsAndSyncs: the first list fails, and sync waits for one that does not.
func (s *story) listsAndSyncs(ctx context.Context) {
	initial := []string{s.add("x/a") + " initial", s.add("x/b") + " initial", s.add("y/c") + " initial"}
	s.server.fail(list, "403")
	s.server.fail(stream, "403")
	require.False(s, s.stack.hasSynced())
	go func() {
		defer close(s.ended)
		s.stack.run(ctx)
	}()
	s.expect()
	require.False(s, s.stack.hasSynced(), "nothing was listed")
	select {
	case <-s.stack.synced:
		s.Fatal("synced without a list")
	default:
	}
	apiservertest.Pass(time.Minute)
	s.expect(initial...)
	require.True(s, s.stack.hasSynced())
	<-s.stack.synced
}

func (s *story) watches() {
	s.expect(s.update("x/a"), s.add("z/d"), s.remove("y/c"))
	require.Equal(s, fmt.Sprint(s.server.head()), s.stack.readUpTo())
}

func (s *story) followsBookmarks() {
	s.server.elsewhere()
	s.server.elsewhere()
	apiservertest.Pass(2 * time.Minute)
	s.expect()
	require.Equal(s, fmt.Sprint(s.server.head()), s.stack.readUpTo())
	if s.stack.storedUpTo != nil {
		require.Equal(s, s.stack.readUpTo(), s.stack.storedUpTo(), "the store was told of the bookmark")
	}
}

// resumesAfterABreak: the bookmark's version is still there, so no list is needed.
func (s *story) resumesAfterABreak() {
	from := s.stack.readUpTo()
	var missed []string
	s.breakTheWatch(func() { missed = []string{s.remove("z/d"), s.update("x/b")} })
	s.expect(missed...)
	requests := s.gate.asked()
	require.Contains(s, requests[len(requests)-1], "watch rv="+fmt.Sprintf("%q", from))
}

// relistsAndFindsWhatIsGone: the deletion was missed, so there is only a tombstone with the last state that was known.
func (s *story) relistsAndFindsWhatIsGone() {
	var missed []string
	s.breakTheWatch(func() {
		known, _ := s.put("x/b")
		s.remove("x/b")
		missed = []string{"x/b: delete " + known + " tombstone", s.update("x/a"), s.add("y/d")}
		s.server.compact()
	})
	s.expect(missed...)
	require.Equal(s, fmt.Sprint(s.server.head()), s.stack.readUpTo())
}

// breakTheWatch ends the watch and lets verbs happen before anybody can watch again.
func (s *story) breakTheWatch(verbs func()) {
	apiservertest.Pass(time.Minute)
	s.server.hold(true)
	require.NotZero(s, s.server.Faults().DropWatches())
	synctest.Wait()
	verbs()
	s.expect()
	s.server.hold(false)
	apiservertest.Pass(time.Minute)
}

func (s *story) resyncs() {
	again := func(key string) string { return key + ": update " + s.now[key] + "→" + s.now[key] }
	apiservertest.Pass(resyncPeriod)
	s.expect(again("x/a"), again("y/d"))
	s.expect(s.update("x/a"))
	apiservertest.Pass(resyncPeriod)
	s.expect(again("x/a"), again("y/d"))
}

// expect lets the bubble come to rest. It wants exactly these calls, in any order, and the store to be what they add up to.
func (s *story) expect(calls ...string) {
	s.Helper()
	synctest.Wait()
	require.ElementsMatch(s, calls, s.heard.take())
	require.ElementsMatch(s, s.heard.believes(), s.stack.contents())
}
