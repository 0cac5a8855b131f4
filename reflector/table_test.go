package reflector

import (
	"context"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
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

// follows says in the words of the table what the reflector does after err in that state, and whether it reports err.
func follows(t *testing.T, state string, err error) (what string, reported bool) {
	f := failing{next: err}
	switch state {
	case "ListingPaged":
		f = failing{list: err}
	case "Connecting":
		f = failing{watch: err}
	}
	r := New[object](f, newRecorder(), Options{
		ResumeFrom: "5", MaxInternalErrorRetry: time.Minute,
		OnError: func(context.Context, error) { reported = true },
	})
	var next State
	switch state {
	case "ListingStreaming":
		next = r.listStreaming(t.Context())
	case "ListingPaged":
		next = r.listPaged(t.Context())
	case "Connecting":
		next = r.connect(t.Context())
	case "Watching":
		require.Equal(t, Watching, r.connect(t.Context()))
		r.stream.useful = true // not very short
		next = r.watch(t.Context())
		defer func() { _ = r.closeStream(nil) }()
	}
	if next == BackingOff {
		what, next = "wait, ", r.next
	}
	switch {
	case next == Watching:
		what += "next event"
	case next == Connecting:
		what += "watch"
	case r.askLatest:
		what += "latest"
	case next == ListingPaged:
		what += "paged"
	default:
		what += "list"
	}
	return what, reported
}

// The table in the comment of kindOf says what happens: each cell is tried.
func TestKindOf_TheTableIsWhatHappens(t *testing.T) {
	errs := map[string]error{
		"Object": &listwatch.ObjectError{Type: listwatch.Modified, Key: keyNamed("a"), Err: io.EOF},
		"Ended":  io.EOF, "Broken": io.ErrUnexpectedEOF, "Deadline": errDeadline, "Busy": busy(1),
		"Outage": outage(), "Internal": internal(), "Expired": expired(),
		"Ahead": tooLarge(), "Unsupported": apierrors.NewBadRequest("no"), "Other": forbidden(),
	}
	silent := []string{
		"Unsupported in ListingStreaming", "Ended in Watching", "Deadline in Connecting", "Deadline in Watching",
	}
	source, err := os.ReadFile("errors.go")
	require.NoError(t, err)
	var header []string
	for line := range strings.Lines(string(source)) {
		row, ok := strings.CutPrefix(line, "//\t")
		if !ok {
			continue
		}
		row = regexp.MustCompile(` \(\d\)`).ReplaceAllString(strings.TrimSpace(row), "")
		cells := regexp.MustCompile(`  +`).Split(row, -1)
		if header == nil {
			header = cells
			continue
		}
		require.Len(t, cells, len(header), row)
		for kind := range strings.SplitSeq(cells[0], ", ") {
			cause := errs[kind]
			delete(errs, kind)
			require.Error(t, cause, kind)
			for i, want := range cells[1:] {
				state := header[i+1]
				if want == "-" {
					continue
				}
				got, reported := follows(t, state, cause)
				require.Equal(t, want, got, "%s in %s", kind, state)
				require.Equal(t, !slices.Contains(silent, kind+" in "+state), reported, "%s in %s", kind, state)
			}
		}
	}
	require.Empty(t, errs, "kinds without a row")
	require.Len(t, header, 5)
}
