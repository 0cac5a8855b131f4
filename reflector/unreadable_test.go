package reflector

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/listwatch"
)

func TestWatch_UnreadableObjectsAreReportedAndSkipped(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a", "b")
		h.Start()
		h.Forget()
		h.Spoil("a")
		h.ExpectSink()
		h.ExpectVersion("2") // does not run ahead of what the sink has
		h.DeleteSpoilt("b")
		h.ExpectSink("DeleteKey b")
		h.ExpectVersion("4")
		h.Put("c")
		h.ExpectSink("Add c@5")
		h.ExpectVersion("5")
		h.ExpectErrors(errors.New(`"ns/a" at resourceVersion 3`), errors.New(`DELETED event "ns/b"`))
		require.Equal(t, uint64(2), h.r.Stats().ObjectErrors)
		require.NoError(t, h.r.LastError())
		h.Send(listwatch.EventType(9), "a", 7) // of unknown type
		h.ExpectErrors()
		h.ExpectSink()
		h.ExpectRequests()
	})
}

func TestWatch_GarbageThatNamesNoObjectIsAskedForAgainOnce(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a")
		h.Start()
		h.Forget()
		garbage := change{rv: 2, typ: listwatch.Added, bad: true, anon: true}.result()
		h.send(garbage) // on the way only: the history does not have it
		h.ExpectRequests(`watch@"1"`)
		h.Put("b")
		h.ExpectSink("Add b@2")
		h.send(garbage)
		h.ExpectRequests(`watch@"2"`)
		h.send(garbage) // from the same version again: it would not end
		h.ExpectRequests()
		h.ExpectSink()
		h.ExpectVersion("2")
	})
}

// There is no version to ask from, so each time would bring the same again.
func TestWatch_GarbageThatNamesNoObjectIsNotAskedForAgainFromAnyVersion(t *testing.T) {
	story(t, Options{DisableStreamingList: true}, func(h *harness) {
		h.Start() // an empty server has no version
		h.ExpectRequests(`list@"0" limit=500`, `watch@"0"`)
		h.send(result{err: &listwatch.ObjectError{Type: listwatch.Modified, Err: io.ErrUnexpectedEOF}})
		h.ExpectRequests()
		h.ExpectErrors(errors.New("of unknown name"))
	})
}

func TestWatch_WhatMayBeADeletionAndNamesNoObjectCostsAList(t *testing.T) {
	for _, typ := range []listwatch.EventType{listwatch.Deleted, 0} {
		story(t, Options{DisableStreamingList: true}, func(h *harness) {
			h.Put("a", "b")
			h.Start()
			h.Forget()
			unnamed := result{err: &listwatch.ObjectError{Type: typ, Err: io.ErrUnexpectedEOF}}
			h.send(unnamed)
			h.ExpectRequests(`watch@"2"`) // asked for again, once
			h.ExpectSink()
			h.send(unnamed)
			h.ExpectStates(Connecting, Watching, BackingOff)
			h.ExpectRequests() // not at once: such events in a row must not become lists in a row
			h.Pass(time.Minute)
			h.ExpectRequests(`list@"" limit=500`, `watch@"2"`)
			h.ExpectSink("Replace 2 [a@1 b@2]")
			for wait := 1600 * time.Millisecond; wait < 20*time.Second; wait *= 2 {
				h.send(unnamed)
				h.Pass(wait - time.Millisecond) // longer each time, also after a good list
				h.ExpectRequests()
				h.Pass(time.Minute)
				h.ExpectRequests(`list@"" limit=500`, `watch@"2"`)
				h.ExpectSink("Replace 2 [a@1 b@2]")
			}
			h.Put("c")
			h.ExpectSink("Add c@3")
		})
	}
}

func TestStreamingList_GarbageThatNamesNoObjectMakesItListInPages(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a")
		h.SpoilAnon("x")
		h.Start()
		h.ExpectStates(ListingStreaming, ListingPaged, Connecting, Watching)
		h.ExpectErrors(errors.New("of unknown name"), errors.New("of unknown name"))
		h.ExpectSink("Replace 2 [a@1]")
	})
}

// Whatever the cause, the object is as bad in the next streaming list.
func TestStreamingList_UnreadableObjectsAreListedInPagesForAnHour(t *testing.T) {
	for _, cause := range []error{errors.New("garbage"), io.ErrUnexpectedEOF} {
		story(t, Options{}, func(h *harness) {
			h.Put("a")
			h.set(func() { h.withholdEnd = true })
			h.Start()
			h.send(result{err: &listwatch.ObjectError{Key: keyNamed("b"), Err: cause}})
			h.ExpectErrors(errors.New("unreadable"))
			require.Equal(t, uint64(1), h.r.Stats().ObjectErrors)
			h.Forget()
			h.BreakWatch(expired())
			h.Pass(time.Second)
			h.ExpectRequests(`list@"1"`, `watch@"1"`)
			h.Heal()
			h.Pass(time.Hour)
			h.Forget()
			h.BreakWatch(expired())
			h.Pass(time.Second)
			h.ExpectRequests(`stream@"1"`)
		})
	}
}

func TestPagedList_ItemThatNamesNoObjectIsMissing(t *testing.T) {
	story(t, Options{DisableStreamingList: true, PageSize: 2}, func(h *harness) {
		h.Put("a")
		h.SpoilAnon("b") // on the first page of two
		h.Spoil("c")
		h.Start()
		h.ExpectRequests(`list@"0" limit=2`, `list@"" limit=2 continue`, `watch@"3"`)
		h.ExpectSink("Replace 3 [a@1] keep [c]")
		h.Put("b") // a version that can be read brings it back
		h.ExpectSink("Update b@4")
	})
}
