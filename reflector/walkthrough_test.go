package reflector

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/book"
)

// TestWalkthrough is one life of a reflector, to be read from top to bottom. Each step says what happens to the server,
// and then what the reflector asked of it and what it told the sink.
func TestWalkthrough(t *testing.T) {
	book.Chapter(t, "2 of 7, reflector: the mirror", `The reflector keeps a sink equal to the server, whatever
		breaks. A sink is what takes the objects: in an informer, the log. "a at 4" is the object a at version 4.`)
	// Subtests cannot run inside a bubble of virtual time, so the steps are played first and shown as subtests after.
	type step struct {
		claim, why string
		saw        []string
		err        error
	}
	var steps []step
	var saw []string // of the step that is played, as is why
	var why string
	story(t, Options{}, func(h *harness) {
		do := func(claim string, f func(h *harness)) {
			if t.Failed() {
				steps = append(steps, step{claim: claim, err: errors.New("an earlier step failed")})
				return
			}
			h.Forget()
			saw = nil
			f(h)
			steps = append(steps, step{claim: claim, why: why, saw: saw})
		}
		because := func(text string) { why = text }
		asked := func(want ...string) {
			h.ExpectRequests(want...)
			saw = append(saw, "requests: "+inWords(want))
		}
		sank := func(want ...string) {
			h.ExpectSink(want...)
			saw = append(saw, "the sink gets: "+inWords(want))
		}
		do("1 the first list is a stream, and the sink gets it as one Replace", func(h *harness) {
			h.Put("a", "b")
			h.Start()
			asked(`stream@""`)
			sank("Replace 2 [a@1 b@2]")
			because(`One request serves as list and watch, and the server need not build the whole list in memory.`)
		})
		do("2 the same stream goes on as the watch", func(h *harness) {
			h.Put("c", "a")
			h.Delete("b")
			asked()
			sank("Add c@3", "Update a@4", "Delete b@5")
			h.ExpectVersion("5")
			because(`There is no gap between list and watch in which a change could be lost.`)
		})
		do("3 a bookmark moves the version on although nothing here has changed", func(h *harness) {
			h.Skip(95)
			h.Bookmark()
			sank("Bookmark 100")
			h.ExpectVersion("100")
			because(`A server forgets old versions. A quiet watch that knows a new one can resume without a list.`)
		})
		do("4 a watch that breaks is resumed at the last version, without a list", func(h *harness) {
			h.Pass(time.Minute)
			h.BreakWatch(io.ErrUnexpectedEOF)
			h.Put("d")
			asked(`watch@"100"`)
			sank("Add d@101")
			because(`The server still has the history, so one request brings what was missed.`)
		})
		do("5 a server that is away is asked again after 0.8, 1.6, 3.2 seconds", func(h *harness) {
			h.set(func() { h.failWatches = []error{refused(), refused(), refused()} })
			h.BreakWatch(io.EOF)
			h.ExpectStates(Connecting, BackingOff)
			require.ErrorContains(t, h.r.LastError(), "connection refused")
			saw = append(saw, "LastError: "+h.r.LastError().Error())
			h.Pass(5600*time.Millisecond - 1)
			require.Equal(t, BackingOff, h.r.State())
			h.Pass(1)
			require.Equal(t, Watching, h.r.State())
			require.NoError(t, h.r.LastError())
			saw = append(saw, "after three waits, 5.6s in all, the watch goes on")
			because(`A server that starts again under the requests of a thousand clients would fall over again.`)
		})
		do("6 after 410 Expired a list brings the deletion that the watch missed", func(h *harness) {
			h.Pass(time.Minute)
			h.set(func() { h.failWatches = []error{outage()} })
			h.BreakWatch(io.EOF)
			h.ExpectStates(Connecting, BackingOff)
			h.Delete("d")
			h.Compact()
			h.Pass(30 * time.Second)
			asked(`watch@"101"`, `watch@"101"`, `stream@"101"`)
			sank("Replace 102 [a@4 c@3]")
			because(`The first watch meets the outage, the second the 410. The history is gone, so only a list can tell. What it
				lacks has been deleted: d is gone.`)
		})
		do("7 an object that cannot be decoded is reported, and the rest goes on", func(h *harness) {
			h.Spoil("a")
			h.Put("e")
			h.ExpectErrors(errors.New(`unreadable MODIFIED event "ns/a"`))
			saw = append(saw, `OnError gets: unreadable MODIFIED event "ns/a"`)
			sank("Add e@104")
			because(`One bad object must not hide the changes of all others.`)
		})
		do("8 a server without streaming lists is listed in pages, and what cannot be decoded is kept", func(h *harness) {
			h.set(func() { h.refuseStreaming = invalid() })
			h.BreakWatch(expired())
			h.Pass(2 * time.Minute)
			asked(`stream@"104"`, `list@"104"`, `watch@"104"`)
			sank("Replace 104 [c@3 e@104] keep [a]")
			because(`Old servers refuse the streaming list. The object a exists, so the sink must not treat it as deleted.`)
		})
		do("9 a restored backup sets the version back", func(h *harness) {
			h.Rewind(2)
			h.Pass(time.Minute)
			asked(`watch@"104"`, `list@"" limit=500`, `watch@"102"`)
			sank("Replace 102 [a@4 c@3]")
			h.ExpectVersion("102")
			because(`The server says of itself that it is older than the client. The client follows it, for the server is
				right.`)
		})
		do("10 everything ends with Run", func(h *harness) {
			h.Stop() // fails if it takes any time
			require.Equal(t, Stopped, h.r.State())
			saw = append(saw, "Run returns as soon as its context is cancelled")
			because(`A program that stops leaves no goroutine and no open connection behind.`)
		})
	})
	for _, s := range steps {
		t.Run(s.claim, func(t *testing.T) {
			require.NoError(t, s.err)
			for _, line := range s.saw {
				book.Saw(t, "%s", line)
			}
			book.Why(t, s.why)
		})
	}
}

// phrases turn the harness's short forms into words, in this order.
var phrases = []struct {
	short *regexp.Regexp
	words string
}{
	{regexp.MustCompile(`^stream@""$`), "a streaming list"},
	{regexp.MustCompile(`^stream@"(.+)"$`), "a streaming list not older than version $1"},
	{regexp.MustCompile(`^list@"" limit=(\d+)$`), "a list of the newest state in pages of $1"},
	{regexp.MustCompile(`^list@"(.+)"$`), "a list not older than version $1"},
	{regexp.MustCompile(`^watch@"(.+)"$`), "a watch from version $1"},
	{regexp.MustCompile(`^Replace (\d+) \[(.*)\] keep \[(.*)\]$`), "a list at $1 with $2 that keeps $3"},
	{regexp.MustCompile(`^Replace (\d+) \[(.*)\]$`), "a list at $1 with $2"},
	{regexp.MustCompile(`^Bookmark (\d+)$`), "a bookmark at $1"},
	{regexp.MustCompile(`^Add `), "add of "},
	{regexp.MustCompile(`^Update `), "update of "},
	{regexp.MustCompile(`^Delete `), "deletion of "},
	{regexp.MustCompile(`(\w+)@(\d+) (\w+)@`), "$1@$2 and $3@"},
	{regexp.MustCompile(`(\w+)@(\d+)`), "$1 at $2"},
}

// inWords says what was asked of the server, or what the sink was given.
func inWords(calls []string) string {
	if len(calls) == 0 {
		return "none"
	}
	var parts []string
	for _, text := range calls {
		for _, p := range phrases {
			text = p.short.ReplaceAllString(text, p.words)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
