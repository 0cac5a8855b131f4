package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"glasswatch/tests/imports"
)

const (
	// beforeFile has what was there before the layers were written again: lines of code and ratios.
	beforeFile = "tests/check/bench/report/before.txt"
	// linesFile has the lines of code at the time of the last run.
	linesFile = "lines.txt"
)

// cost is what the table "What simplicity costs" is made of.
type cost struct {
	linesBefore, linesNow map[string]int
	// before is a ratio with its interval, as it was printed then, by layer, workload and unit.
	before map[string]string
}

// readCost reads what was before, and the lines of the last run from the folder out.
func readCost(root, out string) (c cost, err error) {
	text, err := os.ReadFile(filepath.Join(root, beforeFile))
	if err != nil {
		return c, err
	}
	now, err := os.ReadFile(filepath.Join(out, linesFile))
	if err != nil && !os.IsNotExist(err) {
		return c, err
	}
	if c.linesBefore, c.before, err = parseCost(beforeFile, string(text)); err != nil {
		return c, err
	}
	c.linesNow, _, err = parseCost(linesFile, string(now))
	return c, err
}

// parseCost reads lines of "lines|layer|number" and "ratio|layer|workload|unit|as printed".
func parseCost(name, text string) (lines map[string]int, ratios map[string]string, err error) {
	lines, ratios = map[string]int{}, map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		switch parts := strings.Split(line, "|"); {
		case parts[0] == "lines" && len(parts) == 3:
			if lines[parts[1]], err = strconv.Atoi(parts[2]); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
		case parts[0] == "ratio" && len(parts) == 5:
			ratios[strings.Join(parts[1:4], "|")] = parts[4]
		default:
			return nil, nil, fmt.Errorf("%s: not a figure: %q", name, line)
		}
	}
	return lines, ratios, nil
}

// countLines writes how many lines the layers have.
func countLines(root, into string) error {
	var b strings.Builder
	b.WriteString("# Lines of Go, tests apart, of each layer with what is below it; counted when the figures were measured.\n")
	for _, layer := range layers {
		if strings.Contains(layer, "/") {
			continue
		}
		n, err := imports.Lines(os.DirFS(root), layer)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "lines|%s|%d\n", layer, n)
	}
	return os.WriteFile(into, []byte(b.String()), 0o644)
}

// write writes the table: each figure beside client-go that has a goal, before and now.
func (c cost) write(b *strings.Builder, goals []goal, sections []section) {
	if len(c.before) == 0 {
		return
	}
	b.WriteString("## What simplicity costs\n\nRatios to client-go before the layers were written again, and now. Lines are those of a layer " +
		"with what is below it, tests apart.\n\n| layer | workload | of what | before | now | lines saved |\n|---|---|---|---|---|---|\n")
	var told []string
	for _, g := range goals {
		before, ok := c.before[g.layer+"|"+g.workload+"|"+g.unit]
		if !ok || g.other != theirs {
			continue
		}
		now, _ := g.reached(sections)
		saved := ""
		if !slices.Contains(told, g.layer) {
			told = append(told, g.layer)
			saved = c.saved(g.layer)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", g.layer, g.workload, meaning(g.unit), before, g.show(now), saved)
	}
	b.WriteString("\n")
}

func (c cost) saved(layer string) string {
	before, now := c.linesBefore[layer], c.linesNow[layer]
	if before == 0 || now == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", before-now, before)
}
