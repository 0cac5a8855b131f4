package reflector

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPagedList_GathersPages(t *testing.T) {
	story(t, Options{DisableStreamingList: true, PageSize: 2}, func(h *harness) {
		h.Put("a", "b", "c", "e")
		h.Spoil("d")
		h.Start()
		h.ExpectRequests(`list@"0" limit=2`, `list@"" limit=2 continue`, `list@"" limit=2 continue`, `watch@"5"`)
		h.ExpectSink("Replace 5 [a@1 b@2 c@3 e@4] keep [d]")
		require.Equal(t, uint64(1), h.r.Stats().ObjectErrors)
	})
}

func TestPagedList_RemembersThatTheServerPaginates(t *testing.T) {
	for _, tc := range []struct {
		name       string
		watchCache bool
		relist     []string
	}{
		{"no watch cache", false, []string{`list@"3" limit=500`, `list@"" limit=500 continue`, `watch@"3"`}},
		{"watch cache", true, []string{`list@"3"`, `watch@"3"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			story(t, Options{DisableStreamingList: true}, func(h *harness) {
				h.set(func() {
					h.watchCache = tc.watchCache
					if !tc.watchCache {
						h.pageCap = 2
					}
				})
				h.Put("a", "b", "c")
				h.Start()
				h.Forget()
				h.BreakWatch(expired())
				h.Pass(time.Second)
				h.ExpectRequests(tc.relist...)
			})
		})
	}
}

func TestPagedList_PagesOfTheLatestStateDoNotShowThatThereIsNoWatchCache(t *testing.T) {
	story(t, Options{DisableStreamingList: true}, func(h *harness) {
		h.set(func() { h.watchCache = true })
		for n := range 501 {
			h.Put(fmt.Sprint(n))
		}
		h.Start()
		h.Forget()
		h.BreakWatch(tooLarge())
		h.Pass(time.Second)
		h.ExpectRequests(`list@"" limit=500`, `list@"" limit=500 continue`, `watch@"501"`)
		h.BreakWatch(expired())
		h.Pass(2 * time.Second)
		h.ExpectRequests(`list@"501"`, `watch@"501"`)
	})
}

func TestPagedList_ExpiredTokenAsksForEverythingAtOnce(t *testing.T) {
	story(t, Options{DisableStreamingList: true, PageSize: 2}, func(h *harness) {
		h.Put("a", "b", "c")
		h.set(func() { h.failLists = []error{nil, expired()} })
		h.Start()
		h.ExpectRequests(`list@"0" limit=2`, `list@"" limit=2 continue`, `list@"0"`, `watch@"3"`)
		h.ExpectSink("Replace 3 [a@1 b@2 c@3]")
	})
}

func TestPagedList_StartsOverAfterAnError(t *testing.T) {
	for _, err := range []error{busy(0), outage(), io.ErrUnexpectedEOF, forbidden()} {
		story(t, Options{DisableStreamingList: true, PageSize: 2}, func(h *harness) {
			h.Put("a", "b", "c")
			h.set(func() { h.failLists = []error{nil, err} })
			h.Start()
			h.Pass(time.Second)
			h.ExpectRequests(`list@"0" limit=2`, `list@"" limit=2 continue`, `list@"0" limit=2`,
				`list@"" limit=2 continue`, `watch@"3"`)
			h.ExpectSink("Replace 3 [a@1 b@2 c@3]")
		})
	}
}

func TestPagedList_RepeatedTokenIsAnErrorNotALoop(t *testing.T) {
	story(t, Options{DisableStreamingList: true, PageSize: 1}, func(h *harness) {
		h.Put("a", "b")
		h.set(func() { h.repeatToken = true })
		h.Start()
		h.ExpectErrors(errors.New("continue token"))
		h.Heal()
		h.Pass(time.Second)
		h.ExpectSink("Replace 2 [a@1 b@2]")
	})
}
