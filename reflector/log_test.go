package reflector

import (
	"cmp"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
)

// logged is a line of a log: the level, -1 for an error, and its values by key.
type logged struct {
	level  int
	msg    string
	values map[string]any
}

// record makes h log into what it returns: a function that gives the lines since the last call.
func (h *harness) record() func() []logged {
	var mu sync.Mutex
	var lines []logged
	h.log = funcr.NewJSON(func(text string) {
		line := logged{level: -1}
		_ = json.Unmarshal([]byte(text), &line.values)
		if level, ok := line.values["level"].(float64); ok {
			line.level = int(level)
		}
		line.msg, _ = line.values["msg"].(string)
		for _, builtin := range []string{"logger", "level", "msg"} {
			delete(line.values, builtin)
		}
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}, funcr.Options{Verbosity: 4})
	return func() []logged {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		was := lines
		lines = nil
		return was
	}
}

// inOtherWords are the lines that have client-go's level and keys, but not its words.
var inOtherWords = map[string]string{
	"Watch closed": "List or watch closed",
	"Exiting watch because received the bookmark that marks the end of initial events stream": "Initial events are complete",
	"Data couldn't be fetched in watchlist mode. Falling back to regular list. " +
		"This is expected if watchlist is not supported or disabled in kube-apiserver.": "No streaming list, a paged one follows",
	"Watch returned 429 - backing off": "List or watch ended, another follows",
	"Warning: watch ended with error":  "Watch ended at once, a list follows",
	"Failed to watch":                  "Failed to list, to watch or to take over an object",
}

// The same story is played to client-go's reflector and to this one. Line by line, both log at the same level, and
// client-go's keys are in ours, with the same values.
func TestLog_SaysWhatClientGosReflectorSays(t *testing.T) {
	started := []string{"Starting reflector", "Listing and watching", "Exiting watch", "Caches populated"}
	paged := Options{DisableStreamingList: true}
	for _, tc := range []struct {
		story string
		opts  Options
		play  func(h *harness)
		want  []string // how client-go's lines begin
	}{
		{"a start and a stop", Options{}, func(h *harness) {
			h.Start()
			h.cancel()
			h.cancel = nil
			<-h.done
		}, append(started, "Stopping reflector")},
		{"a paged list", paged, (*harness).Start, []string{
			"Starting reflector", "Listing and watching", "Caches populated",
		}},
		{"a server without streaming lists", Options{}, func(h *harness) {
			h.refuseStreaming = invalid()
			h.Start()
		}, []string{"Starting reflector", "Listing and watching", "Data couldn't be fetched", "Caches populated"}},
		{"a watch with an object and a bookmark", Options{}, func(h *harness) {
			h.startAndBreak(io.EOF)
		}, append(started, "Watch close")},
		{"a version that is gone", Options{}, func(h *harness) {
			h.startAndBreak(expired())
			h.Pass(time.Minute)
		}, append(started, "Watch closed", "Listing and watching", "Exiting watch", "Caches populated")},
		{"a busy server", Options{}, func(h *harness) {
			h.startAndBreak(busy(0))
			h.Pass(time.Minute)
		}, append(started, "Watch returned 429")},
		{"a very short watch", Options{}, func(h *harness) {
			h.startAndBreak(io.EOF)
			h.BreakWatch(io.EOF)
		}, append(started, "Watch close", "Warning: watch ended with error")},
		{"a watch that is refused", Options{}, func(h *harness) {
			h.refuseWatches = forbidden()
			h.startAndBreak(io.EOF)
		}, append(started, "Watch close", "Failed to watch")},
		{"a list that fails", paged, func(h *harness) {
			h.failLists = []error{internal()}
			h.Start()
			h.Pass(time.Minute)
		}, []string{"Starting reflector", "Listing and watching", "Failed to watch", "Listing and watching", "Caches populated"}},
	} {
		t.Run(tc.story, func(t *testing.T) {
			tc.opts.Name = "things"
			said := func(h *harness) []logged {
				h.r.opts.OnError = nil
				lines := h.record()
				h.Put("a")
				tc.play(h)
				return lines()
			}
			var theirs, ours []logged
			storyOfClientGo(t, tc.opts, func(h *harness) { theirs = said(h) })
			story(t, tc.opts, func(h *harness) { ours = said(h) })
			require.Len(t, theirs, len(tc.want), "client-go: %v", theirs)
			require.Len(t, ours, len(tc.want), "glasswatch: %v", ours)
			for i, line := range theirs {
				require.True(t, strings.HasPrefix(line.msg, tc.want[i]), "client-go: %v", line)
				require.Equal(t, cmp.Or(inOtherWords[line.msg], line.msg), ours[i].msg)
				require.Equal(t, line.level, ours[i].level, line.msg)
				requireKeys(t, line.values, ours[i].values)
			}
		})
	}
}

// startAndBreak runs the reflector, and ends its watch after an object and a bookmark.
func (h *harness) startAndBreak(err error) {
	h.Start()
	h.Pass(time.Minute)
	h.Put("b")
	h.Bookmark()
	h.BreakWatch(err)
	h.Settle()
}

func requireKeys(t *testing.T, theirs, ours map[string]any) {
	t.Helper()
	for key, value := range theirs {
		if key == "resyncPeriod" { // an informer resyncs, not its reflector
			continue
		}
		require.Contains(t, ours, key)
		if key != "err" && key != "error" { // the text is its author's
			require.Equal(t, value, ours[key], key)
		}
	}
	require.Equal(t, "things", ours["reflector"])
	require.Equal(t, "*v1.PartialObjectMetadata", ours["type"])
}
