package lens

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// said are the messages of a golden file, as a stream brings them.
func said(t *testing.T, file string) (messages []struct {
	Type string
	Data json.RawMessage
}) {
	t.Helper()
	text, err := os.ReadFile("../../../internal/lens/testdata/fold/" + file)
	require.NoError(t, err)
	golden := struct{ Messages any }{&messages}
	require.NoError(t, json.Unmarshal(text, &golden))
	return messages
}

// playBack serves the page to a world that only says what is in a golden file.
func playBack(t *testing.T, file string) (address string) {
	t.Helper()
	messages := said(t, file)
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(os.DirFS("../../../internal/lens/page")))
	mux.HandleFunc("GET /api/snapshot", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(messages[0].Data)
	})
	mux.HandleFunc("GET /stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, m := range messages {
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", m.Type, m.Data)
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	return serveHandler(t, mux)
}

// A world may have any informers, no workqueue, and may allow next to nothing.
func TestOthers_TheHouseHasTheInformersThatThereAreAndNothingElse(t *testing.T) {
	t.Parallel()
	chromium(t)
	work(t)
	b := visit(t, playBack(t, "others.json"), "")
	b.says("objects-pods", "2")
	b.says("objects-leases", "1")
	b.sees("state-widgets", "[data-state=BackingOff]")
	b.says("box-indexer", "team/a")
	b.says("box-indexer", "and 1 more")
	b.says("box-indexer", "node")
	b.says("box-listwatch", "forbidden")
	b.says("backlog-leases-count", "2")
	b.says("box-workqueue", "no controller")
	b.says("box-controller", "no controller")
	b.says("count-stored", "3")
	b.says("legend", "● Widget  ■ Pod  ▲ Lease")
	house := b.text("box-indexer") + b.text("box-reflector") + b.text("box-handlers")
	assert.NotRegexp(t, "Service|Ingress|undefined|NaN", house)
	b.isAccessible("other informers")
}

func TestOthers_WhatCannotBeDoneIsNotThereAndTheReasonIs(t *testing.T) {
	t.Parallel()
	chromium(t)
	work(t)
	b := visit(t, playBack(t, "others.json"), "")
	b.sees("pause")
	b.sees("cannot") // once
	gone := []string{"play-make", "act", "breakpoints", "break", "storm-section", "sessions", "world", "apply", "delete", "breakpoint-add", "fault-cut", "mute", "storm", "save-session", "play-session", "reset"}
	for _, control := range gone {
		isThere := eval[bool](b, `document.querySelector(`+quote(named(control))+`) !== null`)
		assert.False(t, isThere, control)
	}
	assert.Contains(t, b.text("cannot"), "--write")
	b.says("note", "Lease")
	b.do(goTo("#/lesson/deltas/question"))
	b.sees("lesson-cannot")
	b.do(goTo("#/beside"))
	b.sees("beside-cannot")
	b.click("lang-zh")
	b.says("beside-cannot", "--write")
	b.isAccessible("what cannot be done, in Chinese")
}
