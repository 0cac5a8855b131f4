package tutorials

import (
	"glasswatch/tests/tutorials/clientgo"
	"glasswatch/tests/tutorials/native"
	"glasswatch/tests/tutorials/play"
)

// program is one file of clientgo, and those of the same name in compat and native, if there are any.
type program struct {
	file, title              string
	clientgo, compat, native func(*play.Play)
}

// chapter is a heading of the page.
type chapter struct {
	title    string
	programs []program
}

var table = []chapter{
	{"Clients", []program{
		{"timeouts", "A client has no time-out of its own", clientgo.Timeouts, nil, native.Timeouts},
	}},
	{"Writing", []program{
		{"updates", "Update without a resourceVersion overwrites", clientgo.Updates, nil, nil},
		{"deletes", "Delete, delete again, and what becomes of children", clientgo.Deletes, nil, nil},
		{"manifests", "From YAML text to typed objects", clientgo.Manifests, nil, nil},
		{"jsonpatches", "The six operations of a JSON patch", clientgo.JSONPatches, nil, nil},
	}},
}
