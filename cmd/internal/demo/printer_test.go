package demo

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrinter_AlignsWithAndWithoutColours(t *testing.T) {
	draw := func(color bool) string {
		var out bytes.Buffer
		p := &Printer{out: &out, color: color}
		p.Heading(1, "Title")
		p.Entry("saw", Dim, "one\ntwo")
		p.Table([]string{"size", "time"}, []string{"größer", "1s"}, []string{"s", "2s"})
		return out.String()
	}
	require.Equal(t, `
 1 Title
   saw   one
         two
         size    time
         größer  1s
         s       2s
`, draw(false))
	require.Contains(t, draw(true), "\x1b[1mTitle\x1b[0m\n")
	require.Contains(t, draw(true), "\x1b[2mone\x1b[0m\n         \x1b[2mtwo\x1b[0m\n")
}

func TestPrinter_ColoursAreForTerminalsWithoutNoColor(t *testing.T) {
	require.False(t, NewPrinter(&bytes.Buffer{}).color)
	file, err := os.Create(t.TempDir() + "/out")
	require.NoError(t, err)
	defer file.Close()
	require.False(t, NewPrinter(file).color)
	t.Setenv("NO_COLOR", "1")
	require.False(t, wantsColor())
	t.Setenv("NO_COLOR", "")
	require.True(t, wantsColor())
}
