package merged

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestMerged_TheMergeHoldsNoObjectThatTheStoreHas: what it keeps of an object is who has it in what version.
func TestMerged_TheMergeHoldsNoObjectThatTheStoreHas(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("x", "a", "b")
		s.Start()
		for range 3 {
			s.Put("x", "a", "b")
			s.Settle()
		}
		e := s.informer.merge.entries[named("x")]
		require.Len(s, e.holders, 2)
		for _, h := range e.holders {
			require.Nil(s, h.obj)
		}
	})
}

func TestMerged_DeletionsOfOneKeyCostNoMoreThanOneWhileASourceIsOutOfOrder(t *testing.T) {
	inViews(t, []string{"a", "b"}, func(s *mergedStory) {
		s.Put("y", "a", "b")
		s.Start()
		s.Expect("add y@2 initial")
		s.views["b"].Pause()
		for n := range 20 {
			s.Put("x", "a")
			s.Settle()
			s.Delete("x")
			s.Pass(2 * DefaultMoveGrace)
			s.Expect("add x@"+strconv.Itoa(3+2*n), "delete x@"+strconv.Itoa(4+2*n))
		}
		require.Len(s, s.informer.merge.waiting, 1)
		s.views["b"].Resume()
		s.bookmarks()
		require.Empty(s, s.informer.merge.waiting)
		require.Len(s, s.informer.merge.entries, 1)
		s.Expect()
	})
}

func TestMerged_AFailedTransformIsReportedWithNoLockHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var informer *Informer[*config]
		var failed []string
		opts := Options[*config]{}
		opts.Reflector.DisableStreamingList = true
		opts.Transform = func(obj *config) (*config, error) {
			if obj.Name == "bad" {
				return nil, errors.New("no")
			}
			return obj, nil
		}
		opts.OnObjectError = func(k key, err error) {
			failed = append(failed, k.Name+" with "+strconv.Itoa(len(informer.Sources()))+" sources: "+err.Error())
		}
		history := newHistory()
		var err error
		informer, err = New([]Source[*config]{{Name: "a", ListerWatcher: history.labelled("a")}}, opts)
		require.NoError(t, err)
		s := &mergedStory{T: t, history: history, informer: informer}
		s.Put("bad", "a")
		s.Put("good", "a")
		s.Start()
		s.Put("bad", "a")
		s.Settle()
		s.Stop()
		require.Len(t, failed, 2)
		for _, what := range failed {
			require.Regexp(t, "^bad with 1 sources: .*no$", what)
		}
	})
}
