package differential

import (
	"fmt"
	"slices"
	"strings"
)

// view is what is compared of a part, line by line.
func (p *player) view(part *part) []string {
	lines := []string{fmt.Sprintf("synced %v, read up to %q", part.HasSynced(), part.ReadUpTo())}
	if p.script.mode() == "inorder" {
		lines = append(lines, fmt.Sprintf("store at %q", part.StoreVersion()))
	}
	lines = append(lines, part.Store()...)
	for _, name := range handlers {
		r := part.recorders[name]
		if r == nil {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s synced %v", name, part.places[name].HasSynced()))
		for _, line := range r.report(p.seats[name].partial) {
			lines = append(lines, name+" "+line)
		}
	}
	return lines
}

func (p *player) compare() string {
	want := p.view(p.parts[0])
	for _, line := range want {
		p.tell("      %s", line)
	}
	for _, part := range p.parts[1:] {
		have := p.view(part)
		if slices.Equal(want, have) {
			continue
		}
		return fmt.Sprintf("%s and %s differ:\n%s", p.parts[0].name, part.name, difference(want, have))
	}
	return ""
}

func (p *player) compareWithServer() string {
	for _, key := range keys {
		obj := p.server.objects()[key]
		for _, part := range p.parts {
			inStore := slices.ContainsFunc(part.Store(), func(line string) bool {
				return strings.TrimSuffix(line, "'") == key+": "+obj
			})
			if inStore != (obj != "") {
				return fmt.Sprintf("the server has %s at %q, %s has %v", key, obj, part.name, part.Store())
			}
		}
	}
	return ""
}

// difference lists the lines that only one side has.
func difference(want, have []string) string {
	var b strings.Builder
	for _, line := range want {
		if !slices.Contains(have, line) {
			fmt.Fprintf(&b, "\t- %s\n", line)
		}
	}
	for _, line := range have {
		if !slices.Contains(want, line) {
			fmt.Fprintf(&b, "\t+ %s\n", line)
		}
	}
	return b.String()
}
