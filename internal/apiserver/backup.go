package apiserver

import "glasswatch/internal/apiserver/storage"

// Backup is what a server held at one moment.
type Backup struct{ of storage.Backup }

// Backup returns what the server holds now.
func (f *Faults) Backup() Backup { return Backup{f.server.store.Backup()} }

// Restore sets the server back to b, as an operator does who restores a backup of the database: the objects, and the
// counter that resourceVersions come from, which then gives the same numbers again. Every running watch ends. A
// watch from a version that the server has not come to again is silent until it has, as a real server's is.
func (f *Faults) Restore(b Backup) {
	s := f.server
	s.store.Restore(b.of)
	s.definitionWritten()
	s.sweepSoon()
}
