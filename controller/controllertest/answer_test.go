package controllertest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// A watch may pass an event on before the server has answered the write that it is of.
func TestStory_TellsAWriteBeforeWhatTheProgramSawOfIt(t *testing.T) {
	w := newWorld(&Scenario{}, nil, 100)
	w.api = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		w.add(entry{object: "default/web", text: "seen"})
	})
	w.note("default/web", "before")
	w.commit(nil, request{who: others, object: "default/web"}, httptest.NewRecorder(), httptest.NewRequest("PUT", "/", nil))
	require.Regexp(t, `(?s)before\n.*changes nothing\n.*seen$`, w.story(map[string]bool{"default/web": true}))
}
