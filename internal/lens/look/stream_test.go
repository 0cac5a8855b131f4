package look

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"glasswatch/listwatch"
)

// aLoop has keys in its queue.
type aLoop struct {
	queued atomic.Pointer[[]listwatch.Key]
}

func (l *aLoop) hold(names ...string) {
	keys := []listwatch.Key{}
	for _, name := range names {
		keys = append(keys, listwatch.Key{Namespace: "default", Name: name})
	}
	l.queued.Store(&keys)
}

func (l *aLoop) Len() int                      { return len(*l.queued.Load()) }
func (l *aLoop) NumRequeues(listwatch.Key) int { return 0 }

func (l *aLoop) Contents() ([]listwatch.Key, map[listwatch.Key]bool, map[listwatch.Key]time.Time) {
	return *l.queued.Load(), nil, nil
}

// reader is who reads a stream, while it is written.
type reader struct {
	http.ResponseWriter
	mu   sync.Mutex // protects read
	read string
}

func (r *reader) Write(data []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read += string(data)
	return len(data), nil
}

func (r *reader) Flush() {}

func (r *reader) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read
}

func TestStream_TellsWithinASecondWhatChangesWithoutAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, loop, read := NewHub(), &aLoop{}, &reader{ResponseWriter: httptest.NewRecorder()}
		loop.hold()
		h.Begin(&View{Loop: loop})
		ctx, cancel := context.WithCancel(t.Context())
		go h.stream(read, httptest.NewRequest("GET", "/stream", nil).WithContext(ctx))
		pass := func() {
			time.Sleep(time.Second + tickEvery)
			synctest.Wait()
		}
		pass()
		first := read.String()
		pass()
		assert.NotContains(t, read.String()[len(first):], "event:", "nothing has changed")
		loop.hold("web")
		pass()
		assert.Contains(t, read.String(), `"ready":["default/web"]`)

		_, err := h.Do("mute", []byte(`{"on": true}`))
		assert.NoError(t, err)
		pass()
		loop.hold("web", "unseen")
		pass()
		assert.NotContains(t, read.String(), "unseen", "while it is muted")
		cancel()
		synctest.Wait()
	})
}
