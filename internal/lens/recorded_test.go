package lens

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens/look"
)

func TestRecording_IsShownWithItsOwnTimesAndNothingRuns(t *testing.T) {
	text, err := os.ReadFile("page/lessons/14-under-fire.json")
	require.NoError(t, err)
	session, err := ReadSession(text)
	require.NoError(t, err)
	v := visit(t, Options{})
	v.act("replay", string(text))
	var now look.Snapshot
	v.ask("GET", "/api/snapshot", "", &now)
	require.Len(t, now.Events, len(session.Recorded))
	for i, e := range now.Events {
		require.NotZero(t, e.Seq)
		e.Seq = 0
		require.Equal(t, session.Recorded[i], e)
	}
	assert.Empty(t, now.State.Informers)
	assert.GreaterOrEqual(t, now.Micros, now.Events[len(now.Events)-1].Micros)
	assert.Equal(t, []string{"reset", "replay", "clear"}, now.Can)
	v.act("clear", "{}") // as each lesson does first
	var again Session
	v.ask("GET", "/api/session", "", &again)
	assert.Equal(t, session.Recorded, again.Recorded)
	var got struct{ Versions map[string]string }
	v.ask("GET", "/api/versions?key=default/web", "", &got)
	assert.Empty(t, got.Versions)
	refused := v.request("POST", "/act/apply", `{"yaml": "{}"}`)
	defer refused.Body.Close()
	assert.Equal(t, 409, refused.StatusCode)
	v.act("reset", "{}")
	v.ask("GET", "/api/snapshot", "", &now)
	assert.NotEmpty(t, now.State.Informers)
}

func TestRecording_WhatCannotBeShownIsRefused(t *testing.T) {
	_, err := ReadSession([]byte(`{"glasswatch": "lens session 1", "recorded": [{"us": 1, "at": "nowhere"}]}`))
	require.ErrorIs(t, err, look.ErrBadBody)
	require.ErrorContains(t, err, `event 1 was recorded at "nowhere"`)
	_, err = ReadSession([]byte(`{"glasswatch": "lens session 1", "recorded": [{"us": 1, "at": "sent"}], "actions": [{"act": "apply"}]}`))
	require.ErrorContains(t, err, "not both")
}
