package lens

import (
	"regexp"
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

// Sizes of text are those of the scale, at the top of the style sheet. The picture of the state machine has units of its own.
func TestPage_SizesOfTextAreThoseOfTheScale(t *testing.T) {
	other := regexp.MustCompile(`font(-size)?: *[\d.]+px`)
	for _, name := range []string{"page/style.css", "page/lessons.css"} {
		text, err := page.ReadFile(name)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, ".machine text") {
				assert.NotRegexp(t, other, line, name)
			}
		}
	}
}
