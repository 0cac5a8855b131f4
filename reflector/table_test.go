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
	if name != Watching {
		r.enter(t.Context(), r.newState(name))
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
	said = append(said, next.name.String())
	if r.askLatest {
		said = append(said, "latest")
	}
	if time.Until(r.pagedUntil) == r.opts.StreamingRetry {
		said = append(said, "forLong")
	}
	if reported == 0 {
		said = append(said, "quiet")
	}
	return strings.Join(said, ", ")
}

// words is what a reaction says, but for its limit.
func words(does reaction) string {
	var said []string
	say := func(does bool, word string) {
		if does {
			said = append(said, word)
		}
	}
	say(does.wait, "wait")
	said = append(said, does.next.String())
	say(does.latest, "latest")
	say(does.forLong, "forLong")
	say(does.quiet, "quiet")
	return strings.Join(said, ", ")
}

var limitWords = [...]string{"", "unlessLatest, ", "upTo9Times, ", "forAWhile, ", "unlessShort, "}

var kindWords = [...]string{
	"Object", "Unnamed", "LostDeletion", "Ended", "Broken", "Unanswered", "Overdue", "Busy", "Outage", "Internal",
	"Expired", "Ahead", "Unsupported", "Other",
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

// eachCell calls try in a bubble of virtual time for each state in which errors are met, and each kind.
func eachCell(t *testing.T, try func(t *testing.T, name State, kind errorKind)) {
	t.Helper()
	require.Len(t, errorOfKind, len(kindWords))
	for name := ListingStreaming; name <= Watching; name++ {
		for kind := range errorOfKind {
			synctest.Test(t, func(t *testing.T) { try(t, name, kind) })
		}
	}
}

// Each cell is tried: the server fails so, and the reflector does what the cell says.
func TestTable_IsWhatHappens(t *testing.T) {
	eachCell(t, func(t *testing.T, name State, kind errorKind) {
		does, expected := table[name][kind]
		if !expected {
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
		next := r.current.step(t.Context())
		if next.name == ListingStreaming && f.watch == nil { // the server has answered
			r.enter(t.Context(), next)
			next = r.current.step(t.Context())
		}
		require.Equal(t, words(does), outcome(t.Context(), r, next, reported), "%s in %v", kindWords[kind], name)
	})
}

func TestTable_OtherStandsForAKindThatIsNotThere(t *testing.T) {
	eachCell(t, func(t *testing.T, name State, kind errorKind) {
		if _, expected := table[name][kind]; !expected {
			r := at(t, name, failing{}, Options{OnError: quiet})
			next := r.follow(t.Context(), errorOfKind[kind])
			require.Equal(t, words(table[name][kindOther]), outcome(t.Context(), r, next, 1), "%s in %v", kindWords[kind], name)
		}
	})
}

func TestTable_OtherStandsForAKindBeyondItsLimit(t *testing.T) {
	eachCell(t, func(t *testing.T, name State, kind errorKind) {
		does := table[name][kind]
		if does.limit == 0 {
			return
		}
		r := at(t, name, failing{}, Options{MaxInternalErrorRetry: time.Hour, OnError: quiet})
		here, times := r.current, 1
		follow := func() string {
			r.enter(t.Context(), here)
			return outcome(t.Context(), r, r.follow(t.Context(), errorOfKind[kind]), 1)
		}
		switch does.limit {
		case upTo9Times:
			times = 9
		case unlessShort:
			here.stream.useful = true
		}
		for range times {
			require.Equal(t, strings.TrimSuffix(words(does), ", quiet"), follow(), "%s in %v", kindWords[kind], name)
		}
		switch does.limit {
		case unlessLatest:
			r.askLatest = true
		case unlessShort:
			here.stream.useful = false
		case forAWhile:
			for range 121 {
				r.internal.Note(time.Now())
				<-time.After(30 * time.Second)
			}
		}
		beyond := strings.TrimSuffix(follow(), ", latest") // which the next list asks for, as that one did
		require.Equal(t, words(table[name][kindOther]), beyond, "%s in %v", kindWords[kind], name)
	})
}

// The stream may go on in one place only: elsewhere the same request would be repeated without a pause.
func TestTable_SaysWhatFollows(t *testing.T) {
	for name := ListingStreaming; name <= Watching; name++ {
		require.Contains(t, table[name], kindOther, "%v", name)
		require.Zero(t, table[name][kindOther].limit, "%v: nothing stands for Other", name)
		for kind, does := range table[name] {
			require.NotZero(t, does.next, "%s in %v", kindWords[kind], name)
			require.Equal(t, name == Watching && kind == kindObject, does.next == Watching, "%s in %v", kindWords[kind], name)
		}
	}
	require.Len(t, table, 4)
}

// grid is the table as the page shows it.
func grid() string {
	rows := [][]string{{"error"}, {""}}
	for name := ListingStreaming; name <= Watching; name++ {
		rows[0], rows[1] = append(rows[0], name.String()), append(rows[1], "")
	}
	for kind, word := range kindWords {
		row := []string{word}
		for name := ListingStreaming; name <= Watching; name++ {
			text := ""
			if does, expected := table[name][errorKind(kind)]; expected {
				text = limitWords[does.limit] + words(does)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	lines := ""
	for n, row := range rows {
		for i, text := range row {
			width := 0
			for _, other := range rows {
				width = max(width, len(other[i]))
			}
			if n == 1 {
				lines += "|" + strings.Repeat("-", width+2)
			} else {
				lines += fmt.Sprintf("| %-*s ", width, text)
			}
		}
		lines += "|\n"
	}
	return lines
}

// ARCHITECTURE.md shows the table.
func TestTable_IsOnThePage(t *testing.T) {
	page, err := os.ReadFile("../ARCHITECTURE.md")
	require.NoError(t, err)
	require.True(t, strings.Contains(string(page), "\n\n"+grid()+"\n"), "put the table of errors.go there:\n%s", grid())
}
