package cache

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
)

// logWithCallers returns a context whose logger writes a line for each entry: the place of the call, and the message.
func logWithCallers(ctx context.Context, lines *diary) context.Context {
	return klog.NewContext(ctx, funcr.NewJSON(func(text string) {
		var entry struct {
			Caller struct {
				File string
				Line int
			}
			Msg string
		}
		_ = json.Unmarshal([]byte(text), &entry)
		lines.write("%s:%d %s", entry.Caller.File, entry.Caller.Line, entry.Msg)
	}, funcr.Options{LogCaller: funcr.All}))
}

func TestWaitFor_LogsTheLineOfItsCaller(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		lines := &diary{}
		ctx, cancel := context.WithCancel(logWithCallers(t.Context(), lines))
		_, file, line, _ := runtime.Caller(0)
		require.True(t, m.waitFor(ctx, "test", doneNow{}))
		cancel()
		require.False(t, m.waitFor(ctx, "test", never{}))
		at := func(after int, what string) string {
			return fmt.Sprintf("%s:%d %s", filepath.Base(file), line+after, what)
		}
		lines.Expect(t, at(1, "Waiting"), at(1, "Done waiting"), at(3, "Waiting"), at(3, "Timed out waiting"))
	})
}

// A select would choose one of two at random.
func TestWaitFor_WhatIsDoneIsLoggedAlsoAfterTheContextHasEnded(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		for range 20 {
			lines := &diary{}
			ctx, cancel := context.WithCancel(logWithCallers(t.Context(), lines))
			cancel()
			require.False(t, m.waitFor(ctx, "test", doneNow{}, never{}))
			require.Len(t, lines.entries, 3)
			require.Contains(t, lines.entries[1], "Done waiting")
		}
	})
}

// A name may be computed, by a function that only one goroutine may call.
func TestWaitFor_NamesAreAskedForByTheCallersGoroutineAndOnlyIfNeeded(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		calls := 0
		checkers := make([]DoneChecker, 20)
		for i := range checkers {
			checkers[i] = namedChannel{name: func() string { calls++; return "counted" }, done: doneNow{}.Done()}
		}
		require.True(t, m.waitFor(t.Context(), "", checkers...))
		require.Zero(t, calls)
		require.True(t, m.waitFor(t.Context(), "test", checkers...))
		require.Equal(t, len(checkers), calls)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.False(t, m.waitFor(ended, "", namedChannel{name: func() string { calls++; return "counted" }}))
		require.Equal(t, len(checkers)+1, calls)
	})
}

// never is a DoneChecker that is not done.
type never struct{}

func (never) Name() string          { return "never" }
func (never) Done() <-chan struct{} { return nil }
