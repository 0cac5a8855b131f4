package resume

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// magic starts every file; its last byte is the version of the format.
const magic = "GWPROGR\x01"

// The errors of Load, wrapped with what is wrong. A missing file is an fs.ErrNotExist.
var (
	// ErrDamaged: the file is not as it was written.
	ErrDamaged = errors.New("progress file is damaged")
	// ErrVersion: the file has a format version that this program does not read.
	ErrVersion = errors.New("progress file has another format version")
	// ErrForeign: the file is sound, but about something else.
	ErrForeign = errors.New("progress file is about something else")
)

// Identity is what a file is about. A file is only of use to who has the same.
type Identity struct {
	// Kind is what the frames are: one word for each use of this package.
	Kind string `json:"kind"`
	// Cluster tells clusters apart, and a cluster from the one that was there before under the same address.
	Cluster string `json:"cluster"`
	// Source is what is listed and watched: resource, namespace, selectors.
	Source string `json:"source"`
	// Type is the Go type of the objects, and its shape; empty if the frames hold no objects.
	Type string `json:"type,omitempty"`
	// Transform names what was done to the objects.
	Transform string `json:"transform,omitempty"`
}

// differs says how other is not the same as i; "" if it is.
func (i Identity) differs(other Identity) string {
	for _, f := range []struct{ name, mine, theirs string }{
		{"kind", i.Kind, other.Kind},
		{"cluster", i.Cluster, other.Cluster},
		{"source", i.Source, other.Source},
		{"type", i.Type, other.Type},
		{"transform", i.Transform, other.Transform},
	} {
		if f.mine != f.theirs {
			return fmt.Sprintf("its %s is %q, not %q", f.name, f.theirs, f.mine)
		}
	}
	return ""
}

// encode writes a file to out: the identity, and the frames that fill writes. fill may be nil.
func encode(out io.Writer, id Identity, fill func(write func(frame []byte)) error) error {
	header, err := json.Marshal(id)
	if err != nil {
		return err
	}
	to, sum := bufio.NewWriterSize(out, 1<<16), sha256.New()
	summed := io.MultiWriter(sum, to) // an error of a Write is returned by Flush
	var tooLong error
	write := func(frame []byte) {
		if uint64(len(frame)) > math.MaxUint32 {
			tooLong = fmt.Errorf("a frame of %d bytes is too long", len(frame))
		}
		_, _ = summed.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(frame))))
		_, _ = summed.Write(frame)
	}
	_, _ = summed.Write([]byte(magic))
	write(header)
	if fill != nil {
		err = fill(write)
	}
	if err = cmp.Or(err, tooLong); err != nil {
		return err
	}
	_, _ = to.Write(sum.Sum(nil))
	return to.Flush()
}

// Load reads the file at path and returns its frames, if all of it is sound and about id. They share one buffer.
func Load(path string, id Identity) ([][]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	frames, err := decode(data, id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return frames, nil
}

// decode is Load for what was read already. The frames point into data.
func decode(data []byte, id Identity) ([][]byte, error) {
	const start = len(magic)
	switch {
	case len(data) < start+sha256.Size:
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrDamaged, len(data))
	case string(data[:start-1]) != magic[:start-1]:
		return nil, fmt.Errorf("%w: it does not begin like one", ErrDamaged)
	case data[start-1] != magic[start-1]: // another one may be checked in another way
		return nil, fmt.Errorf("%w: %d, not %d", ErrVersion, data[start-1], magic[start-1])
	}
	body, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if actual := sha256.Sum256(body); !bytes.Equal(actual[:], sum) {
		return nil, fmt.Errorf("%w: its checksum is wrong", ErrDamaged)
	}
	frames, err := split(body[start:])
	if err != nil {
		return nil, err
	}
	var theirs Identity
	if len(frames) == 0 {
		return nil, fmt.Errorf("%w: it has no identity", ErrDamaged)
	}
	if err := json.Unmarshal(frames[0], &theirs); err != nil {
		return nil, fmt.Errorf("%w: its identity: %w", ErrDamaged, err)
	}
	if how := id.differs(theirs); how != "" {
		return nil, fmt.Errorf("%w: %s", ErrForeign, how)
	}
	return frames[1:], nil
}

func split(rest []byte) (frames [][]byte, err error) {
	for len(rest) > 0 {
		if len(rest) < 4 {
			return nil, fmt.Errorf("%w: it ends within a frame", ErrDamaged)
		}
		length := uint64(binary.LittleEndian.Uint32(rest))
		rest = rest[4:]
		if length > uint64(len(rest)) {
			return nil, fmt.Errorf("%w: it ends within a frame", ErrDamaged)
		}
		frames = append(frames, rest[:length:length])
		rest = rest[length:]
	}
	return frames, nil
}

// Save writes a file with the frames that fill writes, and puts it in the place of the one at path, if there is one.
// write keeps no frame, and its errors are Save's. Save returns when the disk has the file. On an error, fill's or the
// disk's, the old file stays as it is and nothing is left beside it. path's folder must exist. Beside the file, path
// with ".tmp" at its end is used and overwritten.
func Save(path string, id Identity, fill func(write func(frame []byte)) error) error {
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

func save(
	path string, create func(name string) (file, error), id Identity, fill func(write func(frame []byte)) error,
) (err error) {
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
		syncFolder(filepath.Dir(path))
	}
	return err
}

// syncFolder makes the rename last. Some file systems cannot, or do not let us; the file is there all the same.
func syncFolder(name string) {
	if d, err := os.Open(name); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
