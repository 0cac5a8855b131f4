package sharedinformer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"

	"glasswatch/internal/book"
)

// TestWalkthrough tells what a shared informer is for, one step at a time.
func TestWalkthrough(t *testing.T) {
	book.Chapter(t, "5 of 7, sharedinformer: the fan-out", `An informer keeps a copy of the server's objects and
		tells any number of handlers of each change, with one list and one watch for all of them.`)
	told := func(s *story, who string, r *recorder, want ...string) {
		s.Helper()
		s.Expect(r, want...)
		book.Saw(s.T, "%s: %s", who, inWords(want))
	}
	step := func(name string, opts Options[*config], tell func(s *story)) {
		t.Run(name, func(t *testing.T) { inVirtualTime(t, opts, tell) })
	}

	step("1 the informer lists, and every handler is given what is there", Options[*config]{}, func(s *story) {
		s.server.Put("web", "1")
		one, two := newRecorder(), newRecorder()
		s.Add(one, HandlerOptions{})
		s.Add(two, HandlerOptions{})
		s.Start()
		told(s, "handler one", one, "add web@1 initial")
		told(s, "handler two", two, "add web@1 initial")
		require.Equal(s, 1, s.server.lists, "one list for both")
		book.Why(s.T, `Ten controllers in one program cost the server no more than one.`)
	})

	step("2 changes arrive as adds, updates and deletions", Options[*config]{}, func(s *story) {
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		s.server.Put("web", "1")
		s.server.Put("web", "2")
		s.server.Delete("web")
		told(s, "the handler", r, "add web@1", "update web@1→2", "delete web@3")
		book.Why(s.T, `An update has the old object too, so a handler can skip a change that does not concern it.`)
	})

	step("3 a handler that comes late is told of what the store has", Options[*config]{}, func(s *story) {
		s.server.Put("web", "1")
		s.server.Put("gone", "")
		s.Start()
		s.server.Put("web", "2")
		s.server.Delete("gone")
		s.Settle()
		late := newRecorder()
		reg := s.Add(late, HandlerOptions{})
		told(s, "the late handler", late, "add web@3 initial") // and not a word of gone, which was deleted before
		require.True(s, reg.HasSynced())
		book.Why(s.T, `It sees neither history nor gaps. The object named gone was deleted before, so there is nothing
			to say of it.`)
	})

	step("4 a broken watch is resumed, and handlers notice nothing", Options[*config]{}, func(s *story) {
		s.server.Put("web", "1")
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		s.Pass(2 * time.Second) // a watch that ends within a second is suspect and leads to a list
		s.server.BreakWatch()
		s.server.Put("web", "2")
		s.Pass(5 * time.Second)
		told(s, "the handler", r, "add web@1 initial", "update web@1→2")
		require.Equal(s, 1, s.server.lists)
		book.Why(s.T, `Connections break all the time. A list would load the server for nothing, since its history has
			what was missed.`)
	})

	step("5 a deletion that nobody saw is found by the next list", Options[*config]{}, func(s *story) {
		s.server.Put("web", "1")
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		s.server.Unobserved(func() { s.server.Delete("web") })
		s.Pass(5 * time.Second)
		told(s, "the handler", r, "add web@1 initial", "delete web@1 unseen")
		book.Why(s.T, `Without this tombstone a handler would keep what belongs to an object that is gone. The mark says
			that the object may be older than its last state.`)
	})

	step("6 a list that finds another object of the same name makes one update", Options[*config]{}, func(s *story) {
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
		told(s, "the handler", r, "add web@1 initial", "update web@1→3") // a watch would have told a deletion and an add
		after, _ := s.informer.Lister().Namespace("default").Get("web")
		require.NotEqual(s, before.UID, after.UID)
		book.Saw(s.T, "the old object's UID is %s, the new one's %s", before.UID, after.UID)
		book.Why(s.T, `A watch would have told a deletion and an add. A list knows names only, so a handler that keeps
			something for each object compares UIDs.`)
	})

	step("7 a resync tells handlers that ask for it of every object again", Options[*config]{ResyncPeriod: time.Minute}, func(s *story) {
		s.server.Put("web", "1")
		r := newRecorder()
		s.Add(r, HandlerOptions{})
		s.Start()
		s.Pass(time.Minute)
		told(s, "the handler", r, "add web@1 initial", "update web@1→1")
		require.Equal(s, 1, s.server.lists, "from the store, not from the server")
		book.Why(s.T, `A handler can check its work again, and the server is not asked.`)
	})

	step("8 a slow handler may fold its backlog", Options[*config]{}, func(s *story) {
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
		told(s, "the handler", r, "add busy@1", "add web@1001")
		book.Why(s.T, `A thousand changes waited, and the handler is told of the result only. So its backlog has at most
			one change an object, and cannot eat the memory.`)
	})

	step("9 listers read the same store", Options[*config]{}, func(s *story) {
		s.server.PutLabelled(named("web"), map[string]string{"tier": "front"})
		s.server.PutLabelled(named("db"), map[string]string{"tier": "back"})
		s.Start()
		objs, err := s.informer.Lister().Namespace("default").List(labels.SelectorFromSet(labels.Set{"tier": "back"}))
		require.NoError(s, err)
		require.Equal(s, []string{"default/db"}, names(objs))
		book.Saw(s.T, "with the label tier=back: %v", names(objs))
		book.Why(s.T, `A handler learns that something changed; a lister answers what else is there, without a
			request.`)
	})

	step("10 RemoveHandler drops the backlog, DrainHandler delivers it", Options[*config]{}, func(s *story) {
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
		told(s, "the removed handler", removed, "add a@1 initial")
		told(s, "the drained handler", drained, "add a@1 initial", "add b@2 initial")
		book.Why(s.T, `A program that stops can choose: end at once, or finish what it was told of.`)
	})
}

// inWords says what a handler was told: "update web@1→2" is "update of web from version 1 to 2".
func inWords(calls []string) string {
	var parts []string
	for _, call := range calls {
		words := strings.Fields(call)
		name, version, _ := strings.Cut(words[1], "@")
		text := map[string]string{"add": "add", "update": "update", "delete": "deletion"}[words[0]] + " of " + name
		if from, to, changed := strings.Cut(version, "→"); changed {
			text += " from version " + from + " to " + to
		} else {
			text += " at version " + version
		}
		switch words[len(words)-1] {
		case "initial":
			text += " (its initial list)"
		case "unseen":
			text += " (a tombstone: nobody saw it)"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
