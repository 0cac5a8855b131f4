package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// families returns what /metrics has: each family with its type and the names of its labels.
func (p *program) families(ctx context.Context) (map[string]string, error) {
	raw, err := p.get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	return familiesOf(string(raw)), nil
}

var labelPair = regexp.MustCompile(`([a-zA-Z_]\w*)="(?:[^"\\]|\\.)*"`)

// familiesOf reads the text format, in which the samples of a family follow its TYPE.
func familiesOf(text string) map[string]string {
	families, labels := map[string]string{}, map[string]bool{}
	name, typ := "", ""
	end := func() {
		if name != "" {
			families[name] = typ + "{" + strings.Join(slices.Sorted(maps.Keys(labels)), ",") + "}"
		}
		clear(labels)
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			end()
			name, typ, _ = strings.Cut(strings.TrimSpace(rest), " ")
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, pair := range labelPair.FindAllStringSubmatch(line, -1) {
			labels[pair[1]] = true
		}
	}
	end()
	return families
}

// differences says in which families another side differs from client-go's.
func differences(clientGos, other map[string]string) (lines []string) {
	for name, want := range clientGos {
		switch got := other[name]; got {
		case want:
		case "":
			lines = append(lines, fmt.Sprintf("`%s` %s is missing", name, want))
		default:
			lines = append(lines, fmt.Sprintf("`%s` is %s, not %s", name, got, want))
		}
	}
	for name, got := range other {
		if clientGos[name] == "" {
			lines = append(lines, fmt.Sprintf("`%s` %s is not client-go's", name, got))
		}
	}
	slices.Sort(lines)
	return lines
}
