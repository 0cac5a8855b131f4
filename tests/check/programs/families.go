package main

import (
	"context"
	"errors"
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

// ofInformers leaves out the program's own families, some of which depend on what happened, as the client's retries do.
func ofInformers(families map[string]string) map[string]string {
	some := maps.Clone(families)
	maps.DeleteFunc(some, func(name, _ string) bool {
		of, _, _ := strings.Cut(name, "_")
		return name == "rest_client_request_retries_total" ||
			of != "informer" && of != "reflector" && of != "workqueue" && of != "rest"
	})
	return some
}

// families joins the rounds: some families appear only when something happens.
func (c *campaign) families(program, work string, of side) map[string]string {
	all := map[string]string{}
	for _, r := range c.results {
		if r.Program == program && r.Work == work && r.Side == of {
			maps.Copy(all, r.Families)
		}
	}
	return all
}

// sameFamilies is an error that names the families of informers, queues and clients that differ from client-go's.
func (c *campaign) sameFamilies() (err error) {
	for _, w := range c.shown() {
		for _, program := range c.shownPrograms(w) {
			base := c.families(program, w.String(), clientGo)
			for _, of := range c.shownSides(w) {
				got := c.families(program, w.String(), of)
				if len(base) == 0 || len(got) == 0 {
					continue
				}
				if lines := differences(ofInformers(base), ofInformers(got)); len(lines) > 0 {
					err = errors.Join(err, fmt.Errorf("%s, %s on %s: /metrics differs from client-go's: %s", w, program, of,
						strings.Join(lines, "; ")))
				}
			}
		}
	}
	return err
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
