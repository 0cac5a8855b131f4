package pictures

import (
	"io/fs"
	"slices"
	"strings"

	"glasswatch/tests/imports"
)

// layer is a root package of the table: a core, with what is below it.
type layer struct {
	imports.Row
	below       []string // the packages below it
	on          []*layer // direct imports
	row         int      // above all that it is built on
	first, last int      // columns: those of all that it is built on
}

const (
	columnWidth = 262
	columnGap   = 14
	rowGap      = 46
	margin      = 16
)

// layersOf reads the seven layers, in the order of the table.
func layersOf(table imports.Table) (layers []*layer) {
	byName := map[string]*layer{}
	for _, row := range table {
		row.What = strings.ReplaceAll(row.What, "`", "")
		if !row.Below && !strings.Contains(row.Package, "/") {
			byName[row.Package] = &layer{Row: row}
			layers = append(layers, byName[row.Package])
		}
	}
	for _, row := range table {
		root, rest, isBelow := strings.Cut(row.Package, "/")
		if l := byName[root]; isBelow && !row.Below && l != nil {
			l.below = append(l.below, rest)
		}
	}
	for _, l := range layers {
		for _, name := range l.Imports {
			if on := byName[name]; on != nil {
				l.on = append(l.on, on)
			}
		}
	}
	return layers
}

// reaches tells whether from is built on to, directly or not.
func reaches(from, to *layer) bool {
	return from == to || slices.ContainsFunc(from.on, func(on *layer) bool { return reaches(on, to) })
}

// arrange gives each layer its row and its columns. The leaves stand in the order that keeps the boxes narrowest.
func arrange(layers []*layer) {
	var leaves []*layer
	for _, l := range layers {
		if l.row = depth(l); l.row == 0 {
			leaves = append(leaves, l)
		}
	}
	var best []*layer
	least := 0
	permute(leaves, 0, func(order []*layer) {
		sum := 0
		for _, l := range layers {
			l.first, l.last = span(l, order)
			sum += l.last - l.first
		}
		if best == nil || sum < least {
			best, least = slices.Clone(order), sum
		}
	})
	for _, l := range layers {
		l.first, l.last = span(l, best)
	}
}

func depth(l *layer) (row int) {
	for _, on := range l.on {
		row = max(row, depth(on)+1)
	}
	return row
}

func span(l *layer, order []*layer) (first, last int) {
	first = -1
	for column, leaf := range order {
		if reaches(l, leaf) {
			if first < 0 {
				first = column
			}
			last = column
		}
	}
	return first, last
}

func permute(all []*layer, from int, visit func([]*layer)) {
	if from == len(all) {
		visit(all)
		return
	}
	for i := from; i < len(all); i++ {
		order := slices.Clone(all)
		moved := order[i]
		order = slices.Insert(slices.Delete(order, i, i+1), from, moved)
		permute(order, from+1, visit)
	}
}

// drawImports draws who is built on whom.
func drawImports(fsys fs.FS) (*canvas, error) {
	table, err := imports.ReadTable(fsys)
	if err != nil {
		return nil, err
	}
	layers := layersOf(table)
	arrange(layers)
	columns, rows := 0, 0
	for _, l := range layers {
		columns, rows = max(columns, l.last+1), max(rows, l.row+1)
	}
	c := &canvas{w: 2*margin + columns*(columnWidth+columnGap) - columnGap, title: "Which layer is built on which"}
	y := margin
	y = bars(c, table, y, func(r imports.Row) bool { return r.Below && (r.Anything || r.Imports != nil) })
	places := map[*layer]rect{}
	for row := rows - 1; row >= 0; row-- {
		y = drawRow(c, layers, row, y, places)
	}
	for _, l := range layers {
		for _, on := range l.on {
			follows := func(other *layer) bool { return other != on && reaches(other, on) }
			if x := places[on].centerX(); !slices.ContainsFunc(l.on, follows) {
				c.arrow("line", point{x, places[l].bottom()}, point{x, places[on].y})
			}
		}
	}
	y = bars(c, table, y, func(r imports.Row) bool { return r.Below && r.Imports == nil && !r.Anything })
	c.frame(rect{margin, y, 14, 14}, "leaf")
	y = c.paragraph(margin+24, y+12, c.w-2*margin-24, "start", "small dim", "knows nothing of Kubernetes. "+
		"A box stands on all that it imports. An arrow shows an import, and is left out if it follows from others.")
	c.h = y
	return c, nil
}

// bars draws the rows of the table that are about several packages, each across the picture.
func bars(c *canvas, table imports.Table, y int, belongs func(imports.Row) bool) int {
	for _, r := range table {
		if !belongs(r) {
			continue
		}
		place := rect{margin, y, c.w - 2*margin, 32}
		c.box(place, "box")
		c.text(place.x+12, y+21, "start", "name", r.Package)
		what := strings.ReplaceAll(r.What, "`", "")
		switch {
		case r.Anything:
			what += "; may import anything"
		case r.Imports == nil:
			what += "; imports none of the layers"
		}
		c.text(place.x+24+width(r.Package, "name"), y+21, "start", "small dim", what)
		y = place.bottom() + 8
	}
	return y + 12
}

// drawRow draws the layers of one row, and returns the top of the row below it.
func drawRow(c *canvas, layers []*layer, row, y int, places map[*layer]rect) int {
	height := 0
	for _, l := range layers {
		if l.row == row {
			place := rect{margin + l.first*(columnWidth+columnGap), y, 0, 0}
			place.w = (l.last-l.first+1)*(columnWidth+columnGap) - columnGap
			places[l] = place
			lines := len(wrap(l.What, place.w-24, "small")) + len(wrap(belowText(l), place.w-24, "small"))
			height = max(height, 34+lineHeight*lines)
		}
	}
	for _, l := range layers {
		if l.row != row {
			continue
		}
		place := places[l]
		place.h = height
		places[l] = place
		class := "box"
		if !l.Kubernetes {
			class = "leaf"
		}
		c.box(place, class)
		c.text(place.x+12, y+22, "start", "name", l.Package)
		next := c.paragraph(place.x+12, y+22+lineHeight, place.w-24, "start", "small", l.What)
		c.paragraph(place.x+12, next, place.w-24, "start", "small dim", belowText(l))
	}
	return y + height + rowGap
}

func belowText(l *layer) string {
	if len(l.below) == 0 {
		return ""
	}
	return "in its folder: " + strings.Join(l.below, ", ")
}
