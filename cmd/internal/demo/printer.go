package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"
)

// Colours of [Printer.Paint], as ANSI codes.
const (
	Bold, Dim, Red, Green, Cyan = "1", "2", "31", "32", "36"
)

// columns is how wide a line may be, label and all, where there is a choice.
const columns = 110

// margin is how wide a label is, with the blanks around it.
const margin = len("   label ")

// Printer lays text out, in colour on a terminal that wants it. It may be used from any goroutine.
type Printer struct {
	mu      sync.Mutex // one line at a time
	out     io.Writer
	color   bool
	printed func() // nil, or called after each line
}

// NewPrinter prints to out.
func NewPrinter(out io.Writer) *Printer {
	file, ok := out.(interface{ Fd() uintptr })
	return &Printer{out: out, color: ok && term.IsTerminal(int(file.Fd())) && wantsColor()}
}

func wantsColor() bool { return os.Getenv("NO_COLOR") == "" }

// Paint returns text in a colour, or as it is.
func (p *Printer) Paint(code, text string) string {
	if !p.color || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Line prints one line.
func (p *Printer) Line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format+"\n", args...)
	if p.printed != nil {
		p.printed()
	}
}

func (p *Printer) onLine(printed func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.printed = printed
}

// Heading prints a numbered title after an empty line.
func (p *Printer) Heading(number int, title string) {
	p.Line("\n%s %s", p.Paint(Bold, fmt.Sprintf("%2d", number)), p.Paint(Bold, title))
}

// Entry prints text behind a short label. Further lines of text are put below its first.
func (p *Printer) Entry(label, code, text string) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = p.Paint(code, line)
	}
	p.Line("   %s %s", p.Paint(Cyan, fmt.Sprintf("%-5s", label)), strings.Join(lines, "\n         "))
}

// wrap breaks lines at blanks so that they fit behind a label. A word that does not fit is left whole.
func wrap(text string) string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for word := range strings.SplitSeq(paragraph, " ") {
			longer := line + " " + word
			if line == "" || margin+utf8.RuneCountInString(longer) <= columns {
				line = strings.TrimPrefix(longer, " ")
				continue
			}
			lines, line = append(lines, line), word
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Table prints rows in columns; the first row is the header. Columns of numbers are not told apart: all text is aligned
// to the left. A last cell may be of any length.
func (p *Printer) Table(rows ...[]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		text := strings.TrimRight(line.String(), " ")
		if n == 0 {
			text = p.Paint(Dim, text)
		}
		p.Line("         %s", text)
	}
}
