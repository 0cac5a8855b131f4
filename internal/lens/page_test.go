package lens

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens/look"
)

func TestHandler_ChangesNothingByGet(t *testing.T) {
	v := visit(t, Options{})
	answer := v.request("GET", "/act/pause", "")
	defer answer.Body.Close()
	assert.NotEqual(t, 200, answer.StatusCode)
	var now look.Snapshot
	v.ask("GET", "/api/snapshot", "", &now)
	assert.Equal(t, "run", now.Gate.Mode)
}

func TestPage_HasNoInlineScripts(t *testing.T) {
	index, err := page.ReadFile("page/index.html")
	require.NoError(t, err)
	for line := range strings.Lines(string(index)) {
		if strings.Contains(line, "<script") {
			assert.Contains(t, line, "src=", "the policy refuses it")
		}
		assert.NotContains(t, line, "style=", "the policy refuses it")
	}
}
