package look

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"glasswatch/listwatch"
)

// aLoop has keys in its queue.
type aLoop struct{ queued []listwatch.Key }

func (l *aLoop) Len() int                      { return len(l.queued) }
func (l *aLoop) NumRequeues(listwatch.Key) int { return 0 }

func (l *aLoop) Contents() ([]listwatch.Key, map[listwatch.Key]bool, map[listwatch.Key]time.Time) {
	return l.queued, nil, nil
}

func TestStream_TellsWithinASecondWhatChangesWithoutAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, loop, read := NewHub(), &aLoop{}, httptest.NewRecorder()
		h.Begin(&View{Loop: loop})
		ctx, cancel := context.WithCancel(t.Context())
		go h.stream(read, httptest.NewRequest("GET", "/stream", nil).WithContext(ctx))
		pass := func() {
			time.Sleep(time.Second + tickEvery)
			synctest.Wait()
		}
		pass()
		first := read.Body.String()
		pass()
		assert.NotContains(t, read.Body.String()[len(first):], "event:", "nothing has changed")
		loop.queued = []listwatch.Key{{Namespace: "default", Name: "web"}}
		pass()
		assert.Contains(t, read.Body.String(), `"ready":["default/web"]`)

		_, err := h.Do("mute", []byte(`{"on": true}`))
		assert.NoError(t, err)
		pass()
		loop.queued = append(loop.queued, listwatch.Key{Namespace: "default", Name: "unseen"})
		pass()
		assert.NotContains(t, read.Body.String(), "unseen", "while it is muted")
		cancel()
		synctest.Wait()
	})
}
