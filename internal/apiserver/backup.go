package apiserver

import "glasswatch/internal/apiserver/storage"

// Backup is what a server held at one moment.
type Backup struct{ of storage.Backup }

// Backup returns what the server holds now.
func (f *Faults) Backup() Backup { return Backup{f.server.store.Backup()} }

// Restore sets the server back to b, as when an operator restores a backup of the database. It restores the objects and
// the counter of resourceVersions, so the same numbers are given again. Every running watch ends. A watch from a
// version that is in the future again is silent until the server reaches it, as in a real server.
func (f *Faults) Restore(b Backup) {
	s := f.server
	s.addresses.mu.Lock()
	s.store.Restore(b.of)
	s.addresses.ports = nil
	s.addresses.mu.Unlock()
	s.definitionWritten()
	s.sweepSoon()
}
