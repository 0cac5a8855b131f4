package tutorials

import (
	"glasswatch/tests/tutorials/clientgo"
	"glasswatch/tests/tutorials/compat"
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
		{"construction", "What making a client sends: nothing", clientgo.Construction, nil, native.Construction},
		{"insecure", "A configuration that is changed before its error is checked", clientgo.Insecure, nil, nil},
		{"skew", "A program older or newer than the server", clientgo.Skew, nil, nil},
	}},
	{"Writing", []program{
		{"updates", "Update without a resourceVersion overwrites", clientgo.Updates, nil, nil},
		{"deletes", "Delete, delete again, and what becomes of children", clientgo.Deletes, nil, nil},
		{"manifests", "From YAML text to typed objects", clientgo.Manifests, nil, nil},
		{"jsonpatches", "The six operations of a JSON patch", clientgo.JSONPatches, nil, nil},
	}},
	{"Watches", []program{
		{"channels", "Why the channel of a watch closes", clientgo.Channels, nil, native.Channels},
		{"history", "How far back a watch can begin", clientgo.History, nil, nil},
		{"hourloop", "An hour: a loop around a loop", clientgo.HourLoop, nil, nil},
		{"hourretry", "An hour: RetryWatcher, and resume", clientgo.HourRetry, compat.HourRetry, native.HourRetry},
		{"hourinformer", "An hour: an informer", clientgo.HourInformer, compat.HourInformer, native.HourInformer},
	}},
	{"Queues", []program{
		{"shutdowns", "Each Get after ShutDown and after a drain", clientgo.ShutDowns, compat.ShutDowns, native.ShutDowns},
		{"waits", "Get on an empty queue, and Len before Get", clientgo.Waits, compat.Waits, native.Waits},
		{"workers", "How fast several workers are", clientgo.Workers, compat.Workers, native.Workers},
		{"results", "The four forms of a Result", clientgo.Results, compat.Results, native.Results},
		{"maxof", "The longer of two waits: the default limiter", clientgo.MaxOf, compat.MaxOf, native.MaxOf},
		{"keyerrors", "Enqueue after a key error", clientgo.KeyErrors, compat.KeyErrors, nil},
	}},
	{"Informers", []program{
		oneEvent,
		{"rungs", "Two rungs below: cache.New and NewInformer", clientgo.Rungs, compat.Rungs, native.Rungs},
		{"stopchannels", "A nil stop channel, and signals", clientgo.StopChannels, compat.StopChannels, native.StopChannels},
		{"defaultindex", "The default index by namespace, and Index of an object", clientgo.DefaultIndex, compat.DefaultIndex, native.DefaultIndex},
		{"resyncs", "A resync asks no server", clientgo.Resyncs, compat.Resyncs, native.Resyncs},
		{"runtwice", "Run, a second time", clientgo.RunTwice, compat.RunTwice, native.RunTwice},
	}},
	{"Logs", []program{
		{"loglevels", "Which lines pass", clientgo.LogLevels, nil, nil},
		{"logfatal", "What Fatal does", clientgo.LogFatal, nil, nil},
	}},
}

var oneEvent = program{"oneevent", "One event, from the wire to a worker", clientgo.OneEvent, compat.OneEvent, native.OneEvent}
