package pictures

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "draw docs/pictures anew")

const root = "../.."

var drawings = map[string]func(fs.FS) (*canvas, error){
	"imports.svg": drawImports,
	"states.svg":  drawStates,
	"path.svg":    drawPath,
}

func TestPictures_ShowWhatTheCodeSays(t *testing.T) {
	for name, draw := range drawings {
		t.Run(name, func(t *testing.T) {
			c, err := draw(os.DirFS(root))
			require.NoError(t, err)
			path := filepath.Join(root, "docs", "pictures", name)
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(c.svg()), 0o644))
			}
			checkedIn, err := os.ReadFile(path)
			require.NoError(t, err, "draw it with -update")
			isTrue := string(checkedIn) == c.svg()
			require.True(t, isTrue, "docs/pictures/%s is outdated: go test ./tests/pictures -update", name)
			for _, page := range []string{"ARCHITECTURE.md", "README.md"} {
				text, err := os.ReadFile(filepath.Join(root, page))
				require.NoError(t, err)
				require.Contains(t, string(text), "](docs/pictures/"+name+")", page)
			}
			requireXML(t, c.svg())
			requireLegible(t, c)
		})
	}
}

// repository is the files that the pictures are drawn from, with one of them changed.
func repository(t *testing.T, file, was, is string) fs.FS {
	t.Helper()
	fsys := fstest.MapFS{}
	for _, name := range []string{"ARCHITECTURE.md", "reflector/state.go", "reflector/errors.go",
		"reflector/observe.go", "sharedinformer/observe.go", "controller/observe.go"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		if name == file {
			require.Contains(t, string(text), was)
			text = []byte(strings.Replace(string(text), was, is, 1))
		}
		fsys[name] = &fstest.MapFile{Data: text}
	}
	return fsys
}

func TestPictures_WhatHasNoPlaceIsAnError(t *testing.T) {
	for _, c := range []struct{ picture, file, was, is, want string }{
		{"states.svg", "reflector/state.go", "\tStopped\n)", "\tStopped\n\tLost\n)", "the state Lost has no place"},
		{"states.svg", "reflector/state.go", "left for Connecting when the", "left for Idle when the",
			`ListingPaged Idle]:when the sink has the list] map[]; the other way round: ["ListingPaged to Connecting"]`},
		{"states.svg", "reflector/errors.go", "next event (1)", "shrug          ", "Watching shrug"},
		{"states.svg", "reflector/errors.go", "\tkind           ListingStreaming", "\tkind           ListingSomehow  ",
			"expected the names of states"},
		{"path.svg", "reflector/observe.go", "\tHandedOver\n", "\tHandedOver\n\tLost\n",
			"the boundary Lost of reflector has no place"},
		{"path.svg", "sharedinformer/observe.go", "BatchStored Step", "Stored Step",
			"the boundary Stored of sharedinformer"},
		{"path.svg", "controller/observe.go", "//\t\"taken\" ", "//\ttaken ",
			"expected 12 boundaries, came 11"},
		{"path.svg", "sharedinformer/observe.go", "Step = ", "Stage = ", "expected constants of type Step"},
		{"imports.svg", "ARCHITECTURE.md", "| package |", "| folder |", `first column is called "package"`},
	} {
		t.Run(c.want, func(t *testing.T) {
			_, err := drawings[c.picture](repository(t, c.file, c.was, c.is))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestPictures_FollowTheTableOfImports(t *testing.T) {
	draw := func(was, is string) *canvas {
		c, err := drawImports(repository(t, "ARCHITECTURE.md", was, is))
		require.NoError(t, err)
		return c
	}
	now := draw("", "")
	row := "| `controller` | a reconcile loop on a workqueue |"
	another := draw(row, "| `retry` | tries again | yes | `controller` |\n"+row)
	require.Len(t, another.boxes, len(now.boxes)+1)
	require.Len(t, another.segments, len(now.segments)+1)
	requireLegible(t, another)
	fewer := draw("`listwatch`, `reflector`, `deltafifo`, `indexer` |", "`listwatch`, `reflector`, `deltafifo` |")
	require.Len(t, fewer.segments, len(now.segments)-1)
}

func requireXML(t *testing.T, text string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else {
			require.NoError(t, err)
		}
	}
}

// requireLegible finds what would be cut off or covered.
func requireLegible(t *testing.T, c *canvas) {
	t.Helper()
	for i, box := range c.boxes {
		for _, other := range c.boxes[:i] {
			assert.False(t, box.overlaps(other), "boxes %v and %v overlap", box, other)
		}
		for _, s := range c.segments {
			assert.False(t, crosses(s, box), "line %v goes through box %v", s, box)
		}
	}
	for i, text := range c.texts {
		inside := text.x >= 0 && text.y >= 0 && text.right() <= c.w && text.bottom() <= c.h
		assert.True(t, inside, "%q leaves the picture", c.words[i])
		for _, box := range c.boxes {
			within := text.x >= box.x && text.right() <= box.right() && text.y >= box.y && text.bottom() <= box.bottom()
			assert.True(t, within || !text.overlaps(box), "%q leaves its box", c.words[i])
		}
		for j := range i {
			assert.False(t, text.overlaps(c.texts[j]), "%q covers %q", c.words[i], c.words[j])
		}
		for _, s := range c.segments {
			assert.False(t, crosses(s, text), "a line goes through %q", c.words[i])
		}
	}
}

// crosses tells whether a line, which is level or upright, goes through a box. Its ends may touch it.
func crosses(s [2]point, r rect) bool {
	left, top := min(s[0].x, s[1].x), min(s[0].y, s[1].y)
	line := rect{left, top, max(s[0].x, s[1].x) - left, max(s[0].y, s[1].y) - top}
	return line.x < r.right() && r.x < line.right() && line.y > r.y && line.y < r.bottom() && line.w > 0 ||
		line.y < r.bottom() && r.y < line.bottom() && line.x > r.x && line.x < r.right() && line.h > 0
}
