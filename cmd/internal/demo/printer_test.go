package demo

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrinter_AlignsWithAndWithoutColours(t *testing.T) {
	draw := func(color bool) string {
		var out bytes.Buffer
		p := &Printer{out: &out, color: color}
		p.Heading(1, "Title")
		p.Entry("did", "", "plain")
		p.Entry("saw", Dim, "one\ntwo")
		p.Table([]string{"size", "time"}, []string{"größer", "1s"}, []string{"s", "2s"})
		return out.String()
	}
	require.Equal(t, `
 1 Title
   did   plain
   saw   one
         two
         size    time
         größer  1s
         s       2s
`, draw(false))
	require.Contains(t, draw(true), "\x1b[1mTitle\x1b[0m\n")
	require.Contains(t, draw(true), "\x1b[0m plain\n")
	require.Contains(t, draw(true), "\x1b[2mone\x1b[0m\n         \x1b[2mtwo\x1b[0m\n")
}

func TestWhy_IsWrappedAt110ColumnsAndLinesUpBehindItsLabel(t *testing.T) {
	draw := func(text string) string {
		var out bytes.Buffer
		(&Demo{Printer: NewPrinter(&out)}).Why("%s", text)
		return out.String()
	}
	fits := strings.Repeat("ü", 95) + " fits."
	require.Len(t, []rune("   why   "+fits), 110)
	require.Equal(t, "   why   "+fits+"\n", draw(fits))
	require.Equal(t, "   why   "+strings.TrimSuffix(fits, " fits.")+"\n         fits.. So\n", draw(fits+". So"))
	require.Equal(t, "   why   one\n         two  blanks\n", draw("one\ntwo  blanks"), "breaks and blanks of the text's own stay")
	long := strings.Repeat("x", 120)
	require.Equal(t, "   why   a\n         "+long+"\n         b\n", draw("a "+long+" b"))
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
