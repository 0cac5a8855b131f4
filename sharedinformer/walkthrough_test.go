package sharedinformer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"
)

// TestWalkthrough tells what a shared informer is for, one step at a time.
func TestWalkthrough(t *testing.T) {
	step := func(name string, opts Options[*config], tell func(s *story)) {
		t.Run(name, func(t *testing.T) { inVirtualTime(t, opts, tell) })
	}

	step("1 the informer lists, and every handler is given what is there", Options[*config]{}, func(s *story) {
		s.server.Put("web", "1")
		one, two := newRecorder(), newRecorder()
		s.Add(one, HandlerOptions{})
		s.Add(two, HandlerOptions{})
		s.Start()
		s.Expect(one, "add web@1 initial")
		s.Expect(two, "add web@1 initial")
		require.Equal(s, 1, s.server.lists, "one list for both")
	})

	step("2 changes arrive as adds, updates and deletions", Options[*config]{}, func(s *story) {
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		s.server.Put("web", "1")
		s.server.Put("web", "2")
		s.server.Delete("web")
		s.Expect(r, "add web@1", "update web@1→2", "delete web@3")
	})

	step("3 a handler that comes late is given the store first", Options[*config]{}, func(s *story) {
		s.server.Put("web", "1")
		s.server.Put("gone", "")
		s.Start()
		s.server.Put("web", "2")
		s.server.Delete("gone")
		s.Settle()
		late := newRecorder()
		reg := s.Add(late, HandlerOptions{})
		s.Expect(late, "add web@3 initial") // and not a word of gone, which was deleted before
		require.True(s, reg.HasSynced())
	})

	step("4 a broken watch is resumed, nobody notices", Options[*config]{}, func(s *story) {
		s.server.Put("web", "1")
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		s.Pass(2 * time.Second) // a watch that ends within a second is suspect and leads to a list
		s.server.BreakWatch()
		s.server.Put("web", "2")
		s.Pass(5 * time.Second)
		s.Expect(r, "add web@1 initial", "update web@1→2")
		require.Equal(s, 1, s.server.lists)
	})

	step("5 a deletion that nobody saw is found by the next list", Options[*config]{}, func(s *story) {
		s.server.Put("web", "1")
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		s.server.Unobserved(func() { s.server.Delete("web") })
		s.Pass(5 * time.Second)
		s.Expect(r, "add web@1 initial", "delete web@1 unseen")
	})

	step("6 an object that a list finds in the place of another of its name is one update", Options[*config]{}, func(s *story) {
		s.server.Put("web", "1")
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		before, _ := s.informer.Lister().Namespace("default").Get("web")
		s.server.Unobserved(func() {
			s.server.Delete("web")
			s.server.Put("web", "2")
		})
		s.Pass(5 * time.Second)
		s.Expect(r, "add web@1 initial", "update web@1→3") // a watch would have told a deletion and an add
		after, _ := s.informer.Lister().Namespace("default").Get("web")
		require.NotEqual(s, before.UID, after.UID)
	})

	step("7 a resync gives handlers that ask for it every object again", Options[*config]{ResyncPeriod: time.Minute}, func(s *story) {
		s.server.Put("web", "1")
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		s.Pass(time.Minute)
		s.Expect(r, "add web@1 initial", "update web@1→1")
		require.Equal(s, 1, s.server.lists, "from the store, not from the server")
	})

	step("8 a slow handler may fold what waits for it", Options[*config]{}, func(s *story) {
		release := make(chan struct{})
		r := newRecorder()
		r.during = func(what string) {
			if strings.HasPrefix(what, "add busy") {
				<-release
			}
		}
		s.Add(r, HandlerOptions{Fold: true})
		s.Start()
		s.server.Put("busy", "")
		s.Settle()
		for v := range 1000 {
			s.server.Put("web", fmt.Sprint(v))
		}
		s.Settle()
		close(release)
		s.Expect(r, "add busy@1", "add web@1001")
	})

	step("9 listers read the same store", Options[*config]{}, func(s *story) {
		s.server.PutLabelled(named("web"), map[string]string{"tier": "front"})
		s.server.PutLabelled(named("db"), map[string]string{"tier": "back"})
		s.Start()
		objs, err := s.informer.Lister().Namespace("default").List(labels.SelectorFromSet(labels.Set{"tier": "back"}))
		require.NoError(s, err)
		require.Equal(s, []string{"default/db"}, names(objs))
	})

	step("10 removing a handler drops what waits for it, draining delivers it", Options[*config]{}, func(s *story) {
		slow := func() (*recorder, chan struct{}) {
			release := make(chan struct{})
			r := newRecorder()
			r.during = func(string) { <-release }
			return r, release
		}
		removed, releaseRemoved := slow()
		drained, releaseDrained := slow()
		one, two := s.Add(removed, HandlerOptions{}), s.Add(drained, HandlerOptions{})
		s.server.Put("a", "")
		s.server.Put("b", "")
		s.Start()
		require.NoError(s, s.informer.RemoveHandler(one))
		require.NoError(s, s.informer.DrainHandler(two))
		close(releaseRemoved)
		close(releaseDrained)
		<-one.Done()
		<-two.Done()
		s.Expect(removed, "add a@1 initial")
		s.Expect(drained, "add a@1 initial", "add b@2 initial")
	})
}
