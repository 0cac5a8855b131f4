package lens

import (
	"bytes"
	"cmp"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const pictures = "../../../docs/pictures"

// The README's screenshots are of the page as it is. Times differ, so the files are not compared, but taken anew by
// -update.
func TestPictures_ShowTheWholeHouse(t *testing.T) {
	t.Parallel()
	chromium(t)
	readme, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			b := open(t, "", chromedp.EmulateViewport(1180, 820), prefers("color-scheme", scheme))
			b.isIn("Watching")
			b.applies("create")
			b.says("objects-ingresses", "1")
			b.chooses(web)
			b.enter("breakpoint-form", "popped")
			b.breaks()
			b.applies("change")
			b.sees("parked-deltafifo")
			b.sees("passed-deltafifo")
			b.replayed()
			file := filepath.Join(pictures, "lens-"+scheme+".png")
			if *update {
				ctx, cancel := context.WithTimeout(b.ctx, patience)
				defer cancel()
				shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(file, withPalette(t, shot), 0o644))
			}
			info, err := os.Stat(file)
			require.NoError(t, err)
			assert.Less(t, info.Size(), int64(150<<10))
			assert.Contains(t, string(readme), filepath.Base(file))
		})
	}
}

// withPalette keeps the 256 colours that are most frequent, which makes the file small.
func withPalette(t *testing.T, shot []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(shot))
	require.NoError(t, err)
	area := full.Bounds()
	counts := map[color.Color]int{}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			counts[full.At(x, y)]++
		}
	}
	often := func(a, b color.Color) int { return cmp.Compare(counts[b], counts[a]) }
	palette := slices.SortedFunc(maps.Keys(counts), often)
	small := image.NewPaletted(area, palette[:min(256, len(palette))])
	draw.Draw(small, area, full, area.Min, draw.Src)
	var out bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small))
	return out.Bytes()
}
