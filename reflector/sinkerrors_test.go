package reflector

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestSinkErrors_AreReportedAndDoNotStopTheMirror(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		no := errors.New("no key")
		for _, op := range []string{"Add", "Update", "Delete", "DeleteKey", "Bookmark"} {
			h.sink.fail[op] = no
		}
		h.Put("a")
		h.Start()
		h.Put("b", "a")
		h.Delete("a")
		h.DeleteSpoilt("b")
		h.Bookmark()
		h.Put("c")
		h.ExpectVersion("6")
		h.ExpectSink("Replace 1 [a@1]", "Add b@2", "Update a@3", "Delete a@4", "DeleteKey b", "Bookmark 5", "Add c@6")
		h.ExpectErrors(&SinkError{Op: "Add", Key: keyNamed("b"), Err: no},
			&SinkError{Op: "Update", Key: keyNamed("a"), Err: no}, &SinkError{Op: "Delete", Key: keyNamed("a"), Err: no},
			errors.New("unreadable"), &SinkError{Op: "DeleteKey", Key: keyNamed("b"), Err: no},
			&SinkError{Op: "Bookmark", Err: no}, &SinkError{Op: "Add", Key: keyNamed("c"), Err: no})
		require.Equal(t, uint64(6), h.r.Stats().SinkErrors)
		require.NoError(t, h.r.LastError())
	})
}

func TestSinkErrors_AListThatTheSinkRefusesIsFollowedByAnotherAfterAWait(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		h.Put("a")
		h.Start()
		h.Forget()
		refused := &SinkError{Op: "Replace", Err: errors.New("no room")}
		h.sink.mu.Lock()
		h.sink.fail["Replace"] = refused.Err
		h.sink.mu.Unlock()
		h.Put("b")
		h.BreakWatch(expired())
		h.Pass(800 * time.Millisecond) // the wait after the watch
		h.ExpectErrors(expired(), refused, refused)
		h.ExpectVersion("2")
		h.Put("c")
		h.sink.mu.Lock()
		clear(h.sink.fail)
		h.sink.mu.Unlock()
		h.Pass(1600 * time.Millisecond)
		h.ExpectRequests(`stream@"2"`, `list@"2"`, `stream@"2"`)
		h.ExpectSink("Add b@2", "Replace 2 [a@1 b@2]", "Replace 2 [a@1 b@2]", "Replace 3 [a@1 b@2 c@3]")
		h.ExpectVersion("3")
		require.NoError(t, h.r.LastError())
		require.EqualValues(t, 2, h.r.Stats().SinkErrors)
	})
}

func TestLastError_StaysUntilAWatchIsAnswered(t *testing.T) {
	story(t, Options{DisableStreamingList: true}, func(h *harness) {
		h.set(func() { h.failLists, h.failWatches = []error{forbidden()}, []error{forbidden()} })
		h.Start()
		require.ErrorContains(t, h.r.LastError(), "failed to list: ")
		h.Pass(800 * time.Millisecond) // the list works, the watch does not
		h.ExpectStates(ListingPaged, BackingOff, ListingPaged, Connecting, BackingOff)
		require.ErrorContains(t, h.r.LastError(), "failed to watch: ")
		h.Pass(1600 * time.Millisecond)
		require.NoError(t, h.r.LastError())
		require.Equal(t, uint64(2), h.r.Stats().Failures)
	})
}

func TestKindOf_KnowsTheTextOfOldServers(t *testing.T) {
	old := apierrors.NewTimeoutError("Too large resource version: 9, current: 1", 1)
	require.Equal(t, kindAhead, kindOf(fmt.Errorf("wrapped: %w", old)))
	require.NotEqual(t, kindAhead, kindOf(apierrors.NewTimeoutError("etcd", 1)))
	require.NotEqual(t, kindAhead, kindOf(errors.New("Too large resource version")))
	require.Equal(t, kindInternal, kindOf(apierrors.NewInternalError(errors.New("Too large resource version"))))
}

func TestSinkErrors_OfAnotherReflectorAreErrorsOfTheList(t *testing.T) {
	story(t, Options{}, func(h *harness) {
		theirs := &SinkError{Op: "Add", Err: errors.New("no")}
		h.failStreams, h.failLists = []error{theirs}, []error{theirs}
		h.Start()
		h.ExpectErrors(theirs, theirs)
		h.ExpectStates(ListingStreaming, ListingPaged, BackingOff)
	})
}
