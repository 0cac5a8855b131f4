package reflector

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

// failing is a server of which one thing fails, always with the same error.
type failing struct {
	list, watch, next error
}

func (f failing) List(context.Context, metav1.ListOptions) (*listwatch.List[object], error) {
	return nil, f.list
}

func (f failing) Watch(context.Context, metav1.ListOptions) (listwatch.Stream[object], error) {
	return f, f.watch
}

func (f failing) Next() (listwatch.Event[object], error) { return listwatch.Event[object]{}, f.next }
func (f failing) Close() error                           { return nil }

// at is a reflector that is in that state, and has asked for version 5.
func at(t *testing.T, name State, lw listwatch.ListerWatcher[object], opts Options) *Reflector[object] {
	t.Helper()
	opts.ResumeFrom = "5"
	r := New(lw, newRecorder(), opts)
	states := map[State]func() *state[object]{
		ListingStreaming: r.listingStreaming, ListingPaged: r.listingPaged, Connecting: r.connecting,
	}
	if name != Watching {
		r.enter(t.Context(), states[name]())
		return r
	}
	r.enter(t.Context(), r.connect(t.Context()))
	require.Equal(t, Watching, r.State())
	t.Cleanup(r.current.stream.close)
	return r
}

// outcome says in the words of the table what r does next.
func outcome(ctx context.Context, r *Reflector[object], next *state[object], reported int) string {
	var said []string
	if next.name == BackingOff {
		said = append(said, "wait")
		next = next.step(ctx)
	}
	said = append(said, map[State]string{
		Watching: "next event", Connecting: "watch", ListingPaged: "paged", ListingStreaming: "list",
	}[next.name])
	if r.askLatest {
		said = append(said, "latest")
	}
	if time.Until(r.pagedUntil) == r.opts.StreamingRetry {
		said = append(said, "for long")
	}
	if reported == 0 {
		said = append(said, "quiet")
	}
	return strings.Join(said, ", ")
}

var limits = []string{"once, ", "9 times, ", "a while, ", "not short, "}

// withoutLimit is a cell's text without its limit, and "" for a cell without one.
func withoutLimit(text string) string {
	for _, limit := range limits {
		if rest, ok := strings.CutPrefix(text, limit); ok {
			return rest
		}
	}
	return ""
}

// errorOfKind is one for each row of the table.
var errorOfKind = map[errorKind]error{
	kindObject:       &listwatch.ObjectError{Type: listwatch.Modified, Key: keyNamed("a"), Err: io.EOF},
	kindUnnamed:      fmt.Errorf("%w: %w", errAskedAgain, &listwatch.ObjectError{Type: listwatch.Modified, Err: io.EOF}),
	kindLostDeletion: &listwatch.ObjectError{Type: listwatch.Deleted, Err: io.EOF},
	kindEnded:        io.EOF, kindBroken: io.ErrUnexpectedEOF,
	kindUnanswered: errUnanswered, kindOverdue: errOverdue,
	kindBusy: busy(1), kindOutage: outage(), kindInternal: internal(), kindExpired: expired(), kindAhead: tooLarge(),
	kindUnsupported: apierrors.NewBadRequest("no"), kindOther: forbidden(),
}

func quiet(context.Context, error) {}

// textOf is what the table says in a cell; "" if it has no row for the kind.
func textOf(kind errorKind, name State) string {
	for line := range strings.SplitSeq(table, "\n") {
		if row := strings.Split(line, "|"); len(row) > 1 && strings.TrimSpace(row[1]) == string(kind) {
			return strings.TrimSpace(row[name-ListingStreaming+2])
		}
	}
	return ""
}

// eachCell calls try for each cell in a bubble of virtual time. text is what the table says.
func eachCell(t *testing.T, try func(t *testing.T, name State, kind errorKind, text string)) {
	t.Helper()
	require.Equal(t, len(errorOfKind)+2, strings.Count(strings.TrimSpace(table), "\n")+1, "rows")
	for kind := range errorOfKind {
		for name := ListingStreaming; name <= Watching; name++ {
			text := textOf(kind, name)
			require.NotEmpty(t, text, "%s in %v", kind, name)
			synctest.Test(t, func(t *testing.T) { try(t, name, kind, text) })
		}
	}
}

// Each cell is tried: the server fails so, and the reflector does what the cell says.
func TestTable_IsWhatHappens(t *testing.T) {
	eachCell(t, func(t *testing.T, name State, kind errorKind, text string) {
		if text == "-" {
			return
		}
		err := errorOfKind[kind]
		f := failing{next: err}
		switch {
		case name == ListingPaged:
			f = failing{list: err}
		case name == Connecting, kind == kindUnanswered:
			f = failing{watch: err}
		}
		reported := 0
		opts := Options{MaxInternalErrorRetry: time.Minute, OnError: func(context.Context, error) { reported++ }}
		r := at(t, name, f, opts)
		if kind == kindLostDeletion {
			r.rereadFrom = "5" // it has been asked for again
		}
		<-time.After(time.Second) // no watch is very short
		want := text
		if rest := withoutLimit(text); rest != "" {
			want = rest
		}
		next := r.current.step(t.Context())
		if next.name == ListingStreaming && f.watch == nil { // the server has answered
			r.enter(t.Context(), next)
			next = r.current.step(t.Context())
		}
		require.Equal(t, want, outcome(t.Context(), r, next, reported), "%s in %v", kind, name)
	})
}

func TestTable_InPlaceOfACellWithoutWordsTheRowOtherApplies(t *testing.T) {
	eachCell(t, func(t *testing.T, name State, kind errorKind, text string) {
		if text == "-" {
			r := at(t, name, failing{}, Options{OnError: quiet})
			next := r.follow(t.Context(), errorOfKind[kind])
			require.Equal(t, textOf(kindOther, name), outcome(t.Context(), r, next, 1), "%s in %v", kind, name)
		}
	})
}

func TestTable_BeyondItsLimitTheRowOtherApplies(t *testing.T) {
	eachCell(t, func(t *testing.T, name State, kind errorKind, text string) {
		within := withoutLimit(text)
		if within == "" {
			return
		}
		r := at(t, name, failing{}, Options{MaxInternalErrorRetry: time.Hour, OnError: quiet})
		here, times := r.current, 1
		follow := func() string {
			r.enter(t.Context(), here)
			return outcome(t.Context(), r, r.follow(t.Context(), errorOfKind[kind]), 1)
		}
		if strings.HasPrefix(text, "9 times") {
			times = 9
		}
		if strings.HasPrefix(text, "not short") {
			here.stream.useful = true
		}
		for range times {
			require.Equal(t, strings.TrimSuffix(within, ", quiet"), follow(), "%s in %v", kind, name)
		}
		switch {
		case strings.HasPrefix(text, "once"):
			r.askLatest = true // The list has asked for the latest state,
		case strings.HasPrefix(text, "not short"):
			here.stream.useful = false
		case kind == kindInternal:
			for range 121 {
				r.internal.Note(time.Now())
				<-time.After(30 * time.Second)
			}
		}
		beyond := strings.Replace(follow(), ", latest", "", 1) // which it still does
		require.Equal(t, textOf(kindOther, name), beyond, "%s in %v", kind, name)
	})
}

// A slip in the table stops the program when it starts, and the error names the row.
func TestTable_IsCheckedWhenItIsRead(t *testing.T) {
	for _, tc := range []struct{ old, slip, says string }{
		{"| wait, list          | 9 times,", "| wait, lits          | 9 times,", `row Ended, ListingPaged: "wait, lits": unknown word "lits"`},
		{"watch, quiet         |", "wait, quiet          |", `row Unanswered, Connecting: "wait, quiet" does not say what follows`},
		{"a while, wait, watch |", "a while, list, watch |", `row Internal, Connecting: "a while, list, watch" says twice what follows`},
		{"| Overdue      |", "| Overdo       |", `row "Overdo": no kind of error`},
		{"| Overdue      |", "| Busy         |", `row "Busy": no kind of error, its second row`},
		{"| Unnamed      | -                      |", "| Unnamed      |", `row "Unnamed": no kind of error, its second row, or not a cell for each state`},
		{"| Other        | paged ", "| Other        | -     ", "row Other, ListingStreaming: does not say what follows"},
		{"Watching", "Watchin ", "row Other, Watching: does not say what follows"},
	} {
		require.Contains(t, table, tc.old)
		_, err := parse(strings.Replace(table, tc.old, tc.slip, 1))
		require.ErrorContains(t, err, tc.says)
	}
	withoutLast := strings.TrimSpace(table)
	_, err := parse(withoutLast[:strings.LastIndex(withoutLast, "\n")])
	require.EqualError(t, err, "row Other: missing")
	require.Panics(t, func() { mustParse("") })
}

// ARCHITECTURE.md shows the table.
func TestTable_IsOnThePage(t *testing.T) {
	page, err := os.ReadFile("../ARCHITECTURE.md")
	require.NoError(t, err)
	require.True(t, strings.Contains(string(page), table), "put the table of errors.go there:%s", table)
}
