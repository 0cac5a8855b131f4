package resume

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Save writes a file with the frames that fill writes, and puts it in the place of the one at path, if there is one.
// It returns when the disk has it. On an error, fill's or the disk's, the old file stays as it is and nothing is left
// beside it. path's folder must exist. Beside the file, path with ".tmp" at its end is used and overwritten.
func Save(path string, id Identity, fill func(w *Writer) error) error {
	return save(path, create, id, fill)
}

// file is what Save needs of an *os.File.
type file interface {
	io.WriteCloser
	Sync() error
}

// create makes a file of that name that nobody else reads. What is there, perhaps left by a process that was killed, or
// planted as a link to elsewhere, is removed first.
func create(name string) (file, error) {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func save(path string, create func(name string) (file, error), id Identity, fill func(w *Writer) error) (err error) {
	temporary := path + ".tmp"
	f, err := create(temporary)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary)
			err = fmt.Errorf("%s not written: %w", path, err)
		}
	}()
	err = encode(f, id, fill)
	// Data before name: else a crash of the machine could leave the name on an empty file.
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	return err
}

// syncFolder makes the rename last. Some file systems cannot; they have their own way of keeping order.
func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}
