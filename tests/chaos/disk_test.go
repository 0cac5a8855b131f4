package chaos

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"glasswatch/sharedinformer/checkpoint"
)

// disk is the folder of the checkpoint.
//
// A full disk is made of what a folder of one's own allows: something else bears the name of the file that is written first,
// so that a write fails at its beginning, or the name of the checkpoint, so that it fails at its very end. Being full in the
// middle of a file is what the tests of listwatch/resume do to it; an informer sees the same error.
type disk struct {
	path string
	// seen are the failed writes of the informer that runs.
	seen uint64
}

func newDisk(t *testing.T) disk { return disk{path: filepath.Join(t.TempDir(), "checkpoint")} }

func (d *disk) temporary() string { return d.path + ".tmp" }
func (d *disk) aside() string     { return d.path + ".aside" }

// fill lets writes fail until free.
func (d *disk) fill(variant int) error {
	if variant%2 == 0 {
		return insist(func() error { // a write may be under way
			return errors.Join(os.RemoveAll(d.temporary()), os.MkdirAll(filepath.Join(d.temporary(), "in the way"), 0o700))
		})
	}
	if info, err := os.Stat(d.path); err == nil && !info.IsDir() {
		if err := os.Rename(d.path, d.aside()); err != nil {
			return err
		}
	}
	return os.MkdirAll(filepath.Join(d.path, "in the way"), 0o700)
}

// free lets writes succeed again. The file of before is there again, too.
func (d *disk) free() error {
	if err := insist(func() error { return os.RemoveAll(d.temporary()) }); err != nil {
		return err
	}
	if info, err := os.Stat(d.path); err == nil && info.IsDir() {
		if err := os.RemoveAll(d.path); err != nil {
			return err
		}
	}
	return ignoreMissing(os.Rename(d.aside(), d.path))
}

// forget removes what was written.
func (d *disk) forget() error {
	if info, err := os.Stat(d.path); err == nil && info.IsDir() {
		return ignoreMissing(os.Remove(d.aside()))
	}
	return errors.Join(ignoreMissing(os.Remove(d.path)), ignoreMissing(os.Remove(d.aside())))
}

// insist tries a few times.
func insist(f func() error) (err error) {
	for range 100 {
		if err = f(); err == nil {
			break
		}
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// count counts the writes that have failed since it looked last. Those do not count that were not tried.
func (d *disk) count(stats checkpoint.Stats, all *tally) {
	if stats.Failures > d.seen && stats.Err != nil && !errors.Is(stats.Err, checkpoint.ErrNoCheckpoint) {
		for range stats.Failures - d.seen {
			all.fire(diskFull)
		}
	}
	d.seen = stats.Failures
}
