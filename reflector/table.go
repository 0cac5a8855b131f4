package reflector

import (
	"fmt"
	"slices"
	"strings"
)

// reaction is what a cell of the table says. The zero value is "-".
type reaction struct {
	limit                        string // "once", "9 times", "a while" or "not short"; "" for none
	next                         string // "next event", "watch", "list" or "paged"
	forLong, latest, wait, quiet bool
}

func mustParse(table string) map[errorKind]map[State]reaction {
	rows, err := parse(table)
	if err != nil {
		panic(fmt.Errorf("reflector: the table of errors: %w", err))
	}
	return rows
}

// parse reads the table: the first line names the states, and each line after the second begins with a kind. Each kind must
// have a row. The row Other stands in for all others, so it must say what follows in each state.
func parse(table string) (map[errorKind]map[State]reaction, error) {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	states := cellsOf(lines[0])[1:]
	rows := map[errorKind]map[State]reaction{}
	for _, line := range lines[min(2, len(lines)):] {
		cells := cellsOf(line)
		kind, row := errorKind(cells[0]), map[State]reaction{}
		if !slices.Contains(kinds, kind) || rows[kind] != nil || len(cells) != len(states)+1 {
			return nil, fmt.Errorf("row %q: no kind of error, its second row, or not a cell for each state", kind)
		}
		for i, text := range cells[1:] {
			does, err := parseReaction(text)
			if err != nil {
				return nil, fmt.Errorf("row %s, %s: %w", kind, states[i], err)
			}
			row[State(slices.Index(stateNames[:], states[i]))] = does
		}
		rows[kind] = row
	}
	for _, kind := range kinds {
		if rows[kind] == nil {
			return nil, fmt.Errorf("row %s: missing", kind)
		}
	}
	for state := ListingStreaming; state <= Watching; state++ {
		if rows[kindOther][state].next == "" {
			return nil, fmt.Errorf("row %s, %v: does not say what follows", kindOther, state)
		}
	}
	return rows, nil
}

// cellsOf splits a line of the table.
func cellsOf(line string) []string {
	var cells []string
	for text := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		cells = append(cells, strings.TrimSpace(text))
	}
	return cells
}

// parseReaction reads a cell.
func parseReaction(text string) (does reaction, err error) {
	if text == "-" {
		return does, nil
	}
	for word := range strings.SplitSeq(text, ", ") {
		switch word {
		case "once", "9 times", "a while", "not short":
			does.limit = word
		case "next event", "watch", "list", "paged":
			if does.next != "" {
				return does, fmt.Errorf("%q says twice what follows", text)
			}
			does.next = word
		case "for long":
			does.forLong = true
		case "latest":
			does.latest = true
		case "wait":
			does.wait = true
		case "quiet":
			does.quiet = true
		default:
			return does, fmt.Errorf("%q: unknown word %q", text, word)
		}
	}
	if does.next == "" {
		return does, fmt.Errorf("%q does not say what follows", text)
	}
	return does, nil
}
