package lens

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens"
)

func TestSession_OfRealTimeIsObservedTheSameInVirtualTime(t *testing.T) {
	l := tombstoneSession(t)
	var s lens.Session
	require.NoError(t, json.Unmarshal([]byte(l.ask("GET", "/api/session", "")), &s))
	want, err := l.lens.Observed()
	require.NoError(t, err)
	require.Equal(t, want, replayed(t, s))
}
