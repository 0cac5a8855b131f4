package resume

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"glasswatch/listwatch"
)

// noDeadline hides T.Deadline, which a bubble forbids.
type noDeadline struct{ rapid.TB }

// history is a server that remembers events until it is compacted.
type history struct {
	*rapid.T
	program *program
	events  []int // the versions of this resource's; the others are of other resources
	last    int
	first   int // what a watch may still be asked for
}

func (h *history) List(_ context.Context, opts metav1.ListOptions) (*listwatch.List[*corev1.Service], error) {
	require.EqualValues(h, 1, opts.Limit)
	return &listwatch.List[*corev1.Service]{ResourceVersion: strconv.Itoa(h.last)}, nil
}

func (h *history) Watch(_ context.Context, opts metav1.ListOptions) (listwatch.Stream[*corev1.Service], error) {
	require.Equal(h, strconv.Itoa(h.program.reached), opts.ResourceVersion, "a watch resumes where the last one was")
	if h.program.reached < h.first {
		return nil, apierrors.NewResourceExpired("too old")
	}
	return &connection{h}, nil
}

// after returns the first event after a version, or 0.
func (h *history) after(version int) int {
	if i := slices.IndexFunc(h.events, func(n int) bool { return n > version }); i >= 0 {
		return h.events[i]
	}
	return 0
}

// connection is one watch: it sends the next event, a bookmark before it, or breaks.
type connection struct{ *history }

func (c *connection) Next() (listwatch.Event[*corev1.Service], error) {
	next := c.after(c.program.reached)
	version := strconv.Itoa(next)
	switch rapid.IntRange(0, 9).Draw(c.T, "event, bookmark, end or garbage") {
	case 6, 7:
		at := rapid.IntRange(c.program.reached, next-1).Draw(c.T, "bookmark")
		c.program.bookmark(at)
		return bookmarked(strconv.Itoa(at)).ev, nil
	case 8:
		return listwatch.Event[*corev1.Service]{}, io.EOF
	case 9:
		c.program.deliver(next)
		return listwatch.Event[*corev1.Service]{}, &listwatch.ObjectError{Type: listwatch.Modified, ResourceVersion: version, Err: errors.New("it has no name")}
	}
	c.program.deliver(next)
	return added(version).ev, nil
}

func (c *connection) Close() error { return nil }

// program is the model of a program with a resumable watch: what it was given, and how far its work has come.
type program struct {
	file      int // the position
	reached   int // by the stream
	delivered int // the last that counts for a commit
	open      bool
	diskFails bool
}

func (p *program) start(at int) { *p = program{file: at, reached: at, delivered: at} }

func (p *program) deliver(version int) { p.reached, p.delivered, p.open = version, version, true }

func (p *program) bookmark(version int) {
	p.reached = version
	if !p.open {
		p.delivered = version
		p.commit(version)
	}
}

// commit reports whether it succeeds.
func (p *program) commit(version int) bool {
	if version > p.delivered || version > p.file && p.diskFails {
		return false
	}
	p.file = max(p.file, version)
	p.open = p.open && version != p.delivered
	return true
}

// programs are the programs that use a position one after the other, and the file.
type programs struct {
	server *history
	model  *program
	folder string
	watch  *Watch[*corev1.Service]
	over   bool // the watch has failed
}

// begin starts a program; at is 0 to resume from the file.
func (p *programs) begin(t *rapid.T, at int) {
	p.mendDisk(t)
	start := ""
	if at > 0 {
		start = strconv.Itoa(at)
		p.model.file = at
	}
	p.model.start(p.model.file)
	p.over = false
	p.watch = resumable(t, p.server, filepath.Join(p.folder, "position"), start)
}

func (p *programs) mendDisk(t *rapid.T) {
	if p.model.diskFails {
		require.NoError(t, os.Rename(p.folder+".away", p.folder))
		p.model.diskFails = false
	}
}

// next calls Next and wants the first event that comes after all that was given.
func (p *programs) next(t *rapid.T) {
	want := p.server.after(p.model.reached)
	setBack := p.server.last < p.model.reached
	if p.over || want == 0 && !setBack {
		t.Skip("it would wait")
	}
	ev, err := p.watch.Next()
	if errors.Is(err, ErrPositionLost) {
		require.True(t, setBack || p.model.reached < p.server.first, "lost: %v", err)
		p.over = true
		return
	}
	require.False(t, setBack, "the server was set back")
	version := ev.ResourceVersion
	if bad, ok := errors.AsType[*listwatch.ObjectError](err); ok {
		version, err = bad.ResourceVersion, nil
	}
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(want), version, "an event was skipped, or came twice")
}

func (p *programs) commit(t *rapid.T, version int) {
	delivered := p.model.delivered
	ok := p.model.commit(version)
	err := p.watch.Commit(strconv.Itoa(version))
	require.Equal(t, ok, err == nil, "%v", err)
	require.Equal(t, version > delivered, errors.Is(err, ErrNotDelivered), "%v", err)
}

// However programs work, die and start again, none of them misses an event that was not committed.
func TestResumableWatch_BehavesLikeANumberInAFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.Mkdir(folder, 0o700))
	synctest.Test(t, func(t *testing.T) { // a broken watch waits for a second
		rapid.Check(noDeadline{t}, func(t *rapid.T) {
			m := &program{}
			h := &history{T: t, program: m, last: 1, first: 1}
			p := &programs{server: h, model: m, folder: folder}
			defer p.mendDisk(t)
			p.begin(t, 1)
			next := func(t *rapid.T) { p.next(t) }
			t.Repeat(map[string]func(*rapid.T){
				"event": func(t *rapid.T) {
					h.last += rapid.IntRange(1, 4).Draw(t, "versions")
					h.events = append(h.events, h.last)
				},
				"compact":         func(t *rapid.T) { h.first = rapid.IntRange(h.first, h.last).Draw(t, "first") },
				"Next":            next,
				"Next again":      next, // more often than the others
				"Commit":          func(t *rapid.T) { p.commit(t, rapid.IntRange(1, h.last+1).Draw(t, "version")) },
				"Commit the last": func(t *rapid.T) { p.commit(t, m.delivered) },
				"the disk fails, or is mended": func(t *rapid.T) {
					if m.diskFails {
						p.mendDisk(t)
						return
					}
					require.NoError(t, os.Rename(folder, folder+".away"))
					m.diskFails = true
				},
				"die": func(t *rapid.T) {
					require.NoError(t, p.watch.Close())
					p.begin(t, 0)
				},
				"die, and the server is set back": func(t *rapid.T) {
					require.NoError(t, p.watch.Close())
					h.last = rapid.IntRange(1, h.last).Draw(t, "to")
					h.first = min(h.first, h.last)
					h.events = slices.DeleteFunc(h.events, func(n int) bool { return n > h.last })
					p.begin(t, 0)
				},
				"list anew": func(t *rapid.T) {
					require.NoError(t, p.watch.Close())
					p.begin(t, h.last)
				},
				"": func(t *rapid.T) { require.Equal(t, strconv.Itoa(m.file), p.watch.Position()) },
			})
		})
	})
}
