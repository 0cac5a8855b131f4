package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stream is a running watch.
type stream struct {
	t      T
	header http.Header
	body   *bufio.Reader
	last   event // the last one that expect read
	// bookmarks tells whether they may come at any time. expect skips unexpected ones.
	bookmarks bool
}

// event is one frame of a watch.
type event struct {
	Type   string
	Object json.RawMessage
}

// watch opens a watch. The path may have a query.
func (s *server) watch(path string, headers ...string) *stream {
	s.t.Helper()
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	return s.open(path+sep+"watch=true", headers...)
}

// open opens a watch whose path says that it is one.
func (s *server) open(path string, headers ...string) *stream {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	resp := s.send(ctx, "GET", path, "", headers)
	s.t.Cleanup(func() { cancel(); resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		content, _ := io.ReadAll(resp.Body)
		require.Fail(s.t, "no watch", "%s: %d %s", path, resp.StatusCode, content)
	}
	body := bufio.NewReader(patientReader{resp.Body, cancel})
	return &stream{t: s.t, header: resp.Header, body: body, bookmarks: strings.Contains(path, "allowWatchBookmarks")}
}

// patientReader gives up if nothing comes within the patience of a check.
type patientReader struct {
	from   io.Reader
	giveUp context.CancelFunc
}

// Read implements io.Reader.
func (r patientReader) Read(p []byte) (int, error) {
	late := time.AfterFunc(patience, r.giveUp)
	defer late.Stop()
	return r.from.Read(p)
}

// next reads a frame in JSON. ok is false at the clean end of the stream.
func (w *stream) next() (e event, ok bool) {
	w.t.Helper()
	line, err := w.body.ReadBytes('\n')
	if errors.Is(err, io.EOF) && len(line) == 0 {
		return event{}, false
	}
	require.NoError(w.t, err, "a frame that began with %q", line)
	require.NoError(w.t, json.Unmarshal(line, &e), "%s", line)
	return e, true
}

// frame reads a frame in protobuf: four bytes of length, then the rest.
func (w *stream) frame() []byte {
	w.t.Helper()
	var size [4]byte
	_, err := io.ReadFull(w.body, size[:])
	require.NoError(w.t, err)
	out := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err = io.ReadFull(w.body, out)
	require.NoError(w.t, err)
	return out
}

// expect reads one event for each line, such as "ADDED a", "BOOKMARK", "ERROR" or "end".
func (w *stream) expect(lines ...string) event {
	w.t.Helper()
	for _, want := range lines {
		e, ok := w.next()
		for w.bookmarks && want != "BOOKMARK" && e.Type == "BOOKMARK" && len(e.meta(w.t).Annotations) == 0 {
			e, ok = w.next()
		}
		require.Equal(w.t, want, e.line(w.t, ok), "%s", e.Object)
		w.last = e
	}
	return w.last
}

func (e event) line(t T, ok bool) string {
	switch {
	case !ok:
		return "end"
	case e.Type == "BOOKMARK" || e.Type == "ERROR":
		return e.Type
	}
	return e.Type + " " + e.meta(t).Name
}

func (e event) meta(t T) *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{}
	require.NoError(t, json.Unmarshal(e.Object, out), "%s", e.Object)
	return out
}

func (e event) version(t T) string { return e.meta(t).ResourceVersion }

// status is the object of an ERROR.
func (e event) status(t T) *metav1.Status {
	out := &metav1.Status{}
	require.NoError(t, json.Unmarshal(e.Object, out), "%s", e.Object)
	return out
}
