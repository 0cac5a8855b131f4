package substitution

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/tests/memserver"
)

// period is the resync period.
const period = time.Hour

// stack is an informer, however it was put together.
type stack struct {
	// run blocks until ctx ends and every goroutine has ended.
	run       func(ctx context.Context)
	hasSynced func() bool
	synced    <-chan struct{}
	// readUpTo is the reflector's resourceVersion, storedUpTo the store's; nil if it does not follow the watch.
	readUpTo, storedUpTo func() string
	// contents are the resourceVersions in the store.
	contents func() map[string]string
}

// build puts a stack together that lists and watches through c, resyncs each period and writes into d.
type build func(c *memserver.Client, d *diary) stack

// tell runs the story in a bubble.
func tell(t *testing.T, make build) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{T: t, server: memserver.New(memserver.Options{PageSize: 2}), diary: &diary{}}
		s.client = s.server.Client("the client")
		s.stack = make(s.client, s.diary)
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		s.listsAndSyncs(ctx)
		s.watches()
		s.followsBookmarks()
		s.resumesAfterABreak()
		s.relistsAndFindsWhatIsGone()
		s.resyncs()
		s.shutsDown(stop)
	})
}

type story struct {
	*testing.T
	server *memserver.Server
	client *memserver.Client
	diary  *diary
	stack  stack
	ended  chan struct{}
}

// listsAndSyncs: the first list fails, and sync waits for one that does not.
func (s *story) listsAndSyncs(ctx context.Context) {
	s.server.Put("x/a")
	s.server.Put("x/b")
	s.server.Put("y/c")
	s.server.Fail(memserver.List, memserver.Forbidden)
	s.server.Fail(memserver.Stream, memserver.Forbidden)
	require.False(s, s.stack.hasSynced())
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		s.stack.run(ctx)
	}()
	synctest.Wait()
	s.expect()
	require.False(s, s.stack.hasSynced(), "nothing was listed")
	select {
	case <-s.stack.synced:
		s.Fatal("synced without a list")
	default:
	}
	s.pass(time.Minute)
	s.expect("add x/a@101 initial", "add x/b@102 initial", "add y/c@103 initial")
	require.True(s, s.stack.hasSynced())
	<-s.stack.synced
	require.Equal(s, "103", s.stack.readUpTo())
}

func (s *story) watches() {
	s.server.Put("x/a")
	s.server.Put("z")
	s.server.Delete("y/c")
	s.expect("update x/a@101→104", "add z@105", "delete y/c@106")
	require.Equal(s, "106", s.stack.readUpTo())
}

func (s *story) followsBookmarks() {
	s.server.Elsewhere()
	s.server.Elsewhere()
	s.server.Bookmark()
	s.expect()
	require.Equal(s, "108", s.stack.readUpTo())
	if s.stack.storedUpTo != nil {
		require.Equal(s, "108", s.stack.storedUpTo(), "the store was told of the bookmark")
	}
}

// resumesAfterABreak: the bookmark's version is still there, so no list is needed.
func (s *story) resumesAfterABreak() {
	s.breakTheWatch(func() {
		s.server.Delete("z")
		s.server.Put("x/b")
	})
	s.expect("delete z@109", "update x/b@102→110")
	requests := s.client.Requests()
	require.Contains(s, requests[len(requests)-1], `watch rv="108"`)
}

// relistsAndFindsWhatIsGone: the deletion was missed, so there is only a tombstone with the last state that was known.
func (s *story) relistsAndFindsWhatIsGone() {
	s.breakTheWatch(func() {
		s.server.Put("x/b")
		s.server.Delete("x/b")
		s.server.Put("x/a")
		s.server.Put("y/d")
		s.server.Compact()
	})
	s.expect("delete x/b@110 tombstone", "update x/a@104→113", "add y/d@114")
	require.Equal(s, "114", s.stack.readUpTo())
}

// breakTheWatch ends the watch and lets verbs happen before anybody can watch again.
func (s *story) breakTheWatch(verbs func()) {
	s.pass(time.Minute)
	s.server.Hold()
	s.server.EndWatches()
	synctest.Wait()
	verbs()
	s.expect()
	s.server.Release()
	s.pass(time.Minute)
}

func (s *story) resyncs() {
	s.pass(period)
	s.expect("update x/a@113→113", "update y/d@114→114")
	s.server.Put("x/a")
	s.expect("update x/a@113→115")
	s.pass(period)
	s.expect("update x/a@115→115", "update y/d@114→114")
}

func (s *story) shutsDown(stop context.CancelFunc) {
	stop()
	<-s.ended
	s.server.Put("x/a")
	s.expect()
	require.Equal(s, map[string]string{"x/a": "115", "y/d": "114"}, s.stack.contents(), "a store outlives its informer")
}

// expect lets the bubble come to rest, and wants exactly these lines, in any order, and the store to be what they add up to.
func (s *story) expect(lines ...string) {
	s.Helper()
	synctest.Wait()
	require.ElementsMatch(s, lines, s.diary.take())
	require.Equal(s, s.diary.believes(), s.stack.contents())
}

// pass lets time go by.
func (s *story) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
