package lens

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	layerColour = regexp.MustCompile(`--(apiserver|listwatch|reflector|deltafifo|indexer|handlers|workqueue|controller): (#[0-9a-f]{6});`)
	layerBlock  = regexp.MustCompile(`(?s)/\* layers \*/\n.*?/\* end of layers \*/\n`)
)

// layerStyles are the rules of a picture that give each layer its colour on the page, light and dark.
func layerStyles(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../internal/lens/page/style.css")
	require.NoError(t, err)
	colours := layerColour.FindAllStringSubmatch(string(page), -1) // the light ones come first
	require.Len(t, colours, 2*len(house))
	rules := func(indent string, colours [][]string) (text string) {
		for _, c := range colours {
			text += fmt.Sprintf("%srect.%s { stroke: %s; stroke-width: 2 } text.%[2]s { fill: %[3]s }\n", indent, c[1], c[2])
		}
		return text
	}
	return "/* layers */\n" + rules("", colours[:len(house)]) + "@media (prefers-color-scheme: dark) {\n" +
		rules("  ", colours[len(house):]) + "}\n/* end of layers */\n"
}

// A layer has the same colour on the page and in every picture. Those below are drawn by hand.
func TestPictures_HaveTheLayersColours(t *testing.T) {
	want := layerStyles(t)
	for _, name := range []string{"path", "states", "imports"} {
		file := pictures + "/" + name + ".svg"
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if *update {
			text = layerBlock.ReplaceAllLiteral(text, []byte(want))
			require.NoError(t, os.WriteFile(file, text, 0o644))
		}
		assert.Equal(t, want, string(layerBlock.Find(text)), "%s: go test -C tests/check ./lens -run HaveTheLayersColours -update", file)
		assert.True(t, strings.Contains(string(text), `<rect class="box reflector"`), file)
	}
}
