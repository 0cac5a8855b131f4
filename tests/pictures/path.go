package pictures

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// seam is a boundary that a layer reports to an observer.
type seam struct {
	layer string
	named
}

// observedStep matches a line of the table in the comment of controller's Observation.
var observedStep = regexp.MustCompile(`^\t"(\w[\w ]*)" +(\S.*)\n$`)

// readSeams reads the boundaries, in the order in which an event passes them.
func readSeams(fsys fs.FS) (seams []seam, err error) {
	for _, source := range []struct{ layer, typ string }{{"reflector", "Boundary"}, {"sharedinformer", "Step"}} {
		found, err := constants(fsys, source.layer+"/observe.go", source.typ)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			s.text = strings.TrimPrefix(s.text, s.name+": ")
			seams = append(seams, seam{source.layer, s})
		}
	}
	rows, err := comment(fsys, "controller/observe.go", observedStep)
	for _, row := range rows {
		seams = append(seams, seam{"controller", named{row[0], row[1]}})
	}
	return seams, err
}

const (
	stationW, stationH = 134, 56
	upperY, lowerY     = 36, 172
)

// stations are the boxes on the path. What is no layer has a blank in its name, or an article.
var stations = []struct {
	name  string
	place rect
}{
	{"API server", rect{16, upperY, stationW, stationH}},
	{"listwatch", rect{206, upperY, stationW, stationH}},
	{"reflector", rect{396, upperY, stationW, stationH}},
	{"deltafifo", rect{586, upperY, stationW, stationH}},
	{"indexer", rect{776, upperY, stationW, stationH}},
	{"a reader", rect{966, upperY, stationW, stationH}},
	{"sharedinformer", rect{206, lowerY, stationW, stationH}},
	{"a handler", rect{396, lowerY, stationW, stationH}},
	{"workqueue", rect{586, lowerY, stationW, stationH}},
	{"controller", rect{776, lowerY, stationW, stationH}},
	{"API server ", rect{966, lowerY, stationW, stationH}},
}

// seamPlaces are where on the path each boundary is reported.
var seamPlaces = map[string]point{
	"StateEntered":    {463, upperY},
	"EventsDecoded":   {365, upperY + 28},
	"HandedOver":      {555, upperY + 28},
	"BatchPopped":     {745, upperY + 28},
	"BatchStored":     {558, 132},
	"HandlerCalled":   {365, lowerY + 16},
	"HandlerReturned": {371, lowerY + 42},
	"queued":          {555, lowerY + 28},
	"taken":           {745, lowerY + 16},
	"reconciled":      {910, lowerY + 28},
	"forgotten":       {810, lowerY + stationH},
	"put off":         {748, 258},
}

// drawPath draws the path of a change, and where an observer sees it.
func drawPath(fsys fs.FS) (*canvas, error) {
	seams, err := readSeams(fsys)
	if err != nil {
		return nil, err
	}
	c := &canvas{w: 1116, title: "The path of a change, and where an observer sees it"}
	for _, s := range stations {
		class, font := "box", "name"
		if strings.Contains(s.name, " ") {
			class, font = "frame", ""
		}
		c.box(s.place, class)
		c.text(s.place.centerX(), s.place.centerY()+5, "middle", font, strings.TrimSpace(s.name))
	}
	for i := range 5 {
		c.arrow("line", point{stations[i].place.right(), upperY + 28}, point{stations[i+1].place.x, upperY + 28})
	}
	drawLower(c)
	y := 302
	for i, s := range seams {
		place, known := seamPlaces[s.name]
		if !known {
			return nil, fmt.Errorf("tests/pictures: the boundary %s of %s has no place in the picture", s.name, s.layer)
		}
		c.dot(place, i+1)
		c.dot(point{30, y - 4}, i+1)
		c.text(52, y, "start", "small dim", s.layer)
		c.text(164, y, "start", "name", s.name)
		y = c.paragraph(312, y, c.w-312-margin, "start", "small", s.text) + 6
	}
	if len(seams) != len(seamPlaces) {
		return nil, fmt.Errorf("tests/pictures: expected %d boundaries, came %d", len(seamPlaces), len(seams))
	}
	c.h = y
	return c, nil
}

// drawLower draws the path from the store to the write.
func drawLower(c *canvas) {
	at := func(i int) rect { return stations[i].place }
	store, informer, handler, queue, controller, server := at(4), at(6), at(7), at(8), at(9), at(10)
	between, below := 132, 258
	c.arrow("line", point{store.centerX(), store.bottom()}, point{store.centerX(), between},
		point{informer.centerX(), between}, point{informer.centerX(), lowerY})
	c.arrow("line", point{informer.right(), lowerY + 16}, point{handler.x, lowerY + 16})
	c.arrow("line", point{handler.x, lowerY + 42}, point{informer.right(), lowerY + 42})
	c.arrow("line", point{handler.right(), lowerY + 28}, point{queue.x, lowerY + 28})
	c.arrow("line", point{queue.right(), lowerY + 16}, point{controller.x, lowerY + 16})
	c.arrow("line", point{controller.centerX(), controller.bottom()}, point{controller.centerX(), below},
		point{queue.centerX(), below}, point{queue.centerX(), queue.bottom()})
	c.arrow("line", point{controller.right(), lowerY + 28}, point{server.x, lowerY + 28})
}
