package reflector

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWalkthrough is one life of a reflector, to be read from top to bottom. Each step says what happens to the server,
// and then what the reflector asked of it and what it told the sink.
func TestWalkthrough(t *testing.T) {
	// Subtests cannot run inside a bubble of virtual time, so the steps are played first and shown as subtests after.
	type step struct {
		claim string
		err   error
	}
	var steps []step
	story(t, Options{}, func(h *harness) {
		do := func(claim string, f func(h *harness)) {
			if t.Failed() {
				steps = append(steps, step{claim, errors.New("an earlier step failed")})
				return
			}
			h.Forget()
			f(h)
			steps = append(steps, step{claim, nil})
		}
		do("1 the first list is a stream, and the sink gets it as one Replace", func(h *harness) {
			h.Put("a", "b")
			h.Start()
			h.ExpectRequests(`stream@""`)
			h.ExpectSink("Replace 2 [a@1 b@2]")
		})
		do("2 the same stream goes on as the watch", func(h *harness) {
			h.Put("c", "a")
			h.Delete("b")
			h.ExpectRequests()
			h.ExpectSink("Add c@3", "Update a@4", "Delete b@5")
			h.ExpectVersion("5")
		})
		do("3 a bookmark moves the version on where nothing of ours changes", func(h *harness) {
			h.Skip(95)
			h.Bookmark()
			h.ExpectSink("Bookmark 100")
			h.ExpectVersion("100")
		})
		do("4 a watch that breaks is resumed at the last version, without a list", func(h *harness) {
			h.Pass(time.Minute)
			h.BreakWatch(io.ErrUnexpectedEOF)
			h.Put("d")
			h.ExpectRequests(`watch@"100"`)
			h.ExpectSink("Add d@101")
		})
		do("5 a server that is away is asked again after 0.8, 1.6, 3.2 seconds", func(h *harness) {
			h.set(func() { h.failWatches = []error{refused(), refused(), refused()} })
			h.BreakWatch(io.EOF)
			h.ExpectStates(Connecting, BackingOff)
			require.ErrorContains(t, h.r.LastError(), "connection refused")
			h.Pass(5600*time.Millisecond - 1)
			require.Equal(t, BackingOff, h.r.State())
			h.Pass(1)
			require.Equal(t, Watching, h.r.State())
			require.NoError(t, h.r.LastError())
		})
		do("6 after 410 Expired a list brings the deletion that the watch missed", func(h *harness) {
			h.Pass(time.Minute)
			h.set(func() { h.failWatches = []error{outage()} })
			h.BreakWatch(io.EOF)
			h.ExpectStates(Connecting, BackingOff)
			h.Delete("d")
			h.Compact()
			h.Pass(30 * time.Second)
			h.ExpectRequests(`watch@"101"`, `watch@"101"`, `stream@"101"`)
			h.ExpectSink("Replace 102 [a@4 c@3]")
		})
		do("7 an object that cannot be read is reported, and the rest goes on", func(h *harness) {
			h.Spoil("a")
			h.Put("e")
			h.ExpectErrors(errors.New(`unreadable MODIFIED event "ns/a"`))
			h.ExpectSink("Add e@104")
		})
		do("8 a server without streaming lists is listed in pages, and keeps what cannot be read", func(h *harness) {
			h.set(func() { h.refuseStreaming = invalid() })
			h.BreakWatch(expired())
			h.Pass(2 * time.Minute)
			h.ExpectRequests(`stream@"104"`, `list@"104"`, `watch@"104"`)
			h.ExpectSink("Replace 104 [c@3 e@104] keep [a]")
		})
		do("9 a restored backup sets the version back", func(h *harness) {
			h.Rewind(2)
			h.Pass(time.Minute)
			h.ExpectRequests(`watch@"104"`, `list@"" limit=500`, `watch@"102"`)
			h.ExpectSink("Replace 102 [a@4 c@3]")
			h.ExpectVersion("102")
		})
		do("10 everything ends with Run", func(h *harness) {
			h.Stop() // fails if it takes any time
			require.Equal(t, Stopped, h.r.State())
		})
	})
	for _, s := range steps {
		t.Run(s.claim, func(t *testing.T) { require.NoError(t, s.err) })
	}
}
