package sharedinformer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/indexer"
	"glasswatch/listwatch"
)

// bothQueues tells a story twice.
func bothQueues(t *testing.T, opts Options[*config], tell func(s *story)) {
	for _, kind := range []QueueKind{InOrder, PerKey} {
		t.Run(nameOf(kind), func(t *testing.T) {
			opts.Queue = kind
			inVirtualTime(t, opts, tell)
		})
	}
}

func TestInformer_TellsHandlersOfEveryChange(t *testing.T) {
	bothQueues(t, Options[*config]{}, func(s *story) {
		s.server.Put("a", "1")
		r := newRecorder()
		reg := s.Add(r, HandlerOptions{})
		s.Start()
		require.True(s, s.informer.HasSynced())
		require.True(s, reg.HasSynced())
		s.Expect(r, "add a@1 initial")

		s.server.Put("b", "1")
		s.server.Put("a", "2")
		s.Expect(r, "add b@2", "update a@1→3")
		s.server.Delete("b")
		s.Expect(r, "delete b@4")
		s.ExpectStore()
		require.Equal(s, "4", s.informer.LastSyncResourceVersion())
		require.NoError(s, s.informer.LastError())
		require.EqualValues(s, 4, reg.Stats().Delivered)
	})
}

func TestInformer_StoreFollowsTheResourceVersion(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		s.server.Put("a", "1")
		s.Start()
		require.Equal(s, "1", s.informer.Store().ResourceVersion())
		s.server.Put("b", "1")
		s.server.Delete("a")
		s.Settle()
		require.Equal(s, "3", s.informer.Store().ResourceVersion())
	})
}

func TestInformer_RelistGivesDeletionsFirst(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		for _, name := range []string{"a", "b", "c", "d"} {
			s.server.Put(name, "1")
		}
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		r.take()
		s.server.Unobserved(func() {
			s.server.Delete("d")
			s.server.Delete("b")
			s.server.Put("a", "2")
			s.server.Put("e", "1")
		})
		s.Pass(10 * time.Second)
		s.Expect(r, "delete b@2 unseen", "delete d@4 unseen", "update a@1→7", "update c@3→3", "add e@8")
		s.ExpectStore()
	})
}

func TestInformer_EmptyListSyncs(t *testing.T) {
	bothQueues(t, Options[*config]{}, func(s *story) {
		reg := s.Add(newRecorder(), HandlerOptions{})
		require.False(s, reg.HasSynced())
		s.Start()
		require.NoError(s, s.informer.WaitForSync(s.Context()))
		require.NoError(s, reg.WaitForSync(s.Context()))
	})
}

func TestInformer_WaitForSyncSaysWhatIsInTheWay(t *testing.T) {
	inVirtualTime(t, Options[*config]{Name: "configs"}, func(s *story) {
		s.server.FailLists(apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no right to list")))
		reg := s.Add(newRecorder(), HandlerOptions{Name: "first"})
		s.Start()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err := s.informer.WaitForSync(ctx)
		require.ErrorIs(s, err, context.DeadlineExceeded)
		require.True(s, apierrors.IsForbidden(err))
		require.ErrorContains(s, err, "configs")
		require.ErrorContains(s, err, "no right to list")
		err = reg.WaitForSync(ctx)
		require.ErrorIs(s, err, context.DeadlineExceeded)
		require.ErrorContains(s, err, "first")

		s.server.FailLists(nil)
		require.NoError(s, s.informer.WaitForSync(context.Background()))
		synctest.Wait() // until a watch is answered, which follows the list, the error stays
		require.NoError(s, s.informer.LastError())

		late := New[*config](s.server, Options[*config]{})
		ended, end := context.WithCancel(context.Background())
		end()
		require.NoError(s, late.Run(ended))
		require.ErrorIs(s, late.WaitForSync(context.Background()), ErrStopped)
	})
}

func TestInformer_WatchErrorsGoToTheHandler(t *testing.T) {
	var seen []error
	inVirtualTime(t, Options[*config]{WatchErrorHandler: func(_ context.Context, err error) { seen = append(seen, err) }}, func(s *story) {
		boom := errors.New("boom")
		s.server.FailLists(boom)
		s.Start()
		require.NotEmpty(s, seen)
		require.ErrorIs(s, seen[0], boom)
		require.ErrorIs(s, s.informer.LastError(), boom)
	})
}

func TestInformer_RunsOnce(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		r := newRecorder()
		reg := s.Add(r, HandlerOptions{})
		s.Start()
		require.ErrorIs(s, s.informer.Run(context.Background()), ErrStarted)
		s.Stop()
		require.ErrorIs(s, s.informer.Run(context.Background()), ErrStarted)
		<-s.informer.Done()
		<-reg.Done()
		require.ErrorIs(s, reg.Err(), ErrStopped)
		_, err := s.informer.AddHandler(r, HandlerOptions{})
		require.ErrorIs(s, err, ErrStopped)
		require.ErrorIs(s, s.informer.AddIndexers(indexer.Indexers[*config]{"x": byValue}), ErrStopped)
		require.NoError(s, s.informer.RemoveHandler(reg), "gone already is no error")
	})
}

func TestInformer_RunWaitsForTheCallsOfHandlers(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		release := make(chan struct{})
		r := newRecorder()
		r.during = func(string) { <-release }
		s.Add(r, HandlerOptions{})
		s.server.Put("a", "1")
		s.server.Put("b", "1")
		s.Start()
		s.cancel()
		synctest.Wait()
		require.False(s, isClosed(s.informer.Done()), "a call is under way")
		close(release)
		<-s.ended
		require.Equal(s, []string{"add a@1 initial"}, r.take(), "what waited was dropped")
	})
}

var byValue indexer.IndexFunc[*config] = func(obj *config, dst []string) ([]string, error) {
	if obj.Data["value"] == "unfit" {
		return dst, errors.New("unfit value")
	}
	return append(dst, obj.Data["value"]), nil
}

func TestInformer_IndexersBeforeAndWhileRunning(t *testing.T) {
	var failed []string
	opts := Options[*config]{OnObjectError: func(k listwatch.Key, err error) { failed = append(failed, fmt.Sprintf("%s: %v", k.Name, err)) }}
	bothQueues(t, opts, func(s *story) {
		failed = nil
		require.NoError(s, s.informer.AddIndexers(indexer.Indexers[*config]{"before": byValue}))
		require.Error(s, s.informer.AddIndexers(indexer.Indexers[*config]{NamespaceIndex: byValue}), "exists")
		s.server.Put("a", "red")
		s.server.Put("b", "unfit")
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		require.Len(s, failed, 1)
		require.Contains(s, failed[0], "b: ")
		require.NoError(s, s.informer.AddIndexers(indexer.Indexers[*config]{"while": byValue}))
		require.Len(s, failed, 2)
		s.ExpectStore()
		s.Expect(r, "add a@1 initial", "add b@2 initial")
		for _, index := range []string{"before", "while"} {
			red, err := s.informer.Store().ByIndex(index, "red")
			require.NoError(s, err)
			require.Len(s, red, 1)
		}
		require.EqualValues(s, 2, s.informer.Stats().ObjectErrors)
	})
}

func TestInformer_FailedTransformCostsThatObjectOnly(t *testing.T) {
	var failed []string
	opts := Options[*config]{
		Transform: func(obj *config) (*config, error) {
			if obj.Data["value"] == "unfit" {
				return nil, errors.New("unfit value")
			}
			obj.ManagedFields = nil
			return obj, nil
		},
		OnObjectError: func(k listwatch.Key, err error) { failed = append(failed, k.Name) },
	}
	bothQueues(t, opts, func(s *story) {
		failed = nil
		s.server.Put("a", "fit")
		s.server.Put("b", "unfit")
		r := newRecorder()
		reg := s.Add(r, HandlerOptions{})
		s.Start()
		require.True(s, reg.HasSynced())
		require.Equal(s, []string{"b"}, failed)
		s.Expect(r, "add a@1 initial")

		s.server.Put("a", "unfit") // the last good version stays
		s.Settle()
		require.Empty(s, r.take())
		obj, ok := s.informer.Store().GetByKey(named("a"))
		require.True(s, ok)
		require.Equal(s, "fit", obj.Data["value"])

		s.server.Compact() // and counts as present on a relist
		s.Pass(10 * time.Second)
		require.Empty(s, r.take())
		require.Len(s, s.informer.Store().ListKeys(), 1)

		s.server.Delete("b") // never known, so never missed
		s.server.Delete("a")
		s.Settle()
		log := r.take()
		require.Len(s, log, 1)
		require.Contains(s, log[0], "delete a@")
		require.Empty(s, r.lies)

		s.server.Put("b", "fit") // heals with the next version
		s.Settle()
		require.Equal(s, []string{"add b@7"}, r.take())
	})
}

func TestInformer_UnreadableObjectKeepsItsLastGoodVersion(t *testing.T) {
	var failed []string
	opts := Options[*config]{OnObjectError: func(k listwatch.Key, err error) { failed = append(failed, k.Name) }}
	bothQueues(t, opts, func(s *story) {
		failed = nil
		s.server.Put("a", "1")
		s.server.Put("b", "1")
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		s.Expect(r, "add a@1 initial", "add b@2 initial")

		s.server.Garble("a", true)
		s.server.Put("a", "2")
		s.server.Put("b", "2")
		s.Expect(r, "update b@2→4")
		require.Equal(s, []string{"a"}, failed)

		s.server.Compact()
		s.Pass(10 * time.Second)
		s.Expect(r, "update b@4→4")
		require.Len(s, s.informer.Store().ListKeys(), 2)

		s.server.Delete("a")
		s.Expect(r, "delete a@1 unseen")
	})
}

func TestInformer_UnreadableListDoesNotBlockSync(t *testing.T) {
	bothQueues(t, Options[*config]{OnObjectError: func(listwatch.Key, error) {}}, func(s *story) {
		s.server.Put("a", "1")
		s.server.Garble("a", true)
		reg := s.Add(newRecorder(), HandlerOptions{})
		s.Start()
		require.True(s, s.informer.HasSynced())
		require.True(s, reg.HasSynced())
		require.EqualValues(s, 1, s.informer.Stats().ObjectErrors)
	})
}

func TestInformer_StatsCountWhatWaits(t *testing.T) {
	inVirtualTime(t, Options[*config]{Name: "configs"}, func(s *story) {
		release := make(chan struct{})
		slow := newRecorder()
		slow.during = func(string) { <-release }
		s.Add(slow, HandlerOptions{Name: "slow"})
		s.Add(newRecorder(), HandlerOptions{Name: "quick"})
		s.Add(newRecorder(), HandlerOptions{Name: "quick"})
		s.server.Put("a", "1")
		s.server.Put("b", "1")
		s.Start()
		stats := s.informer.Stats()
		require.Equal(s, "configs", stats.Name)
		require.Equal(s, 2, stats.Objects)
		require.Equal(s, "2", stats.ResourceVersion)
		require.True(s, stats.Synced)
		require.Equal(s, []HandlerStats{
			{Name: "slow", Depth: 2},
			{Name: "quick", Delivered: 2, Synced: true},
			{Name: "quick#2", Delivered: 2, Synced: true},
		}, stats.Handlers)
		close(release)
		s.Settle()
		require.Equal(s, HandlerStats{Name: "slow", Delivered: 2, Synced: true}, s.informer.Stats().Handlers[0])
	})
}
