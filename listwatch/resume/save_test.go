package resume

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// small is a disk with room for so many bytes, which may also fail to sync.
type small struct {
	file
	room    int
	syncErr error
}

func (s *small) Write(data []byte) (int, error) {
	if len(data) > s.room {
		n, _ := s.file.Write(data[:s.room])
		return n, syscall.ENOSPC
	}
	s.room -= len(data)
	return s.file.Write(data)
}

func (s *small) Sync() error {
	if s.syncErr != nil {
		return s.syncErr
	}
	return s.file.Sync()
}

func TestSave_AFullDiskLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, Save(path, blue, framesOf("old")))
	size := len(encoded(t, blue, "new"))
	for room := range size {
		err := save(path, func(name string) (file, error) {
			f, err := create(name)
			return &small{file: f, room: room}, err
		}, blue, framesOf("new"))
		require.ErrorIs(t, err, syscall.ENOSPC)
		requireOnly(t, path, "old")
	}
	err := save(path, func(name string) (file, error) {
		f, err := create(name)
		return &small{file: f, room: size, syncErr: syscall.EIO}, err
	}, blue, framesOf("new"))
	require.ErrorIs(t, err, syscall.EIO)
	requireOnly(t, path, "old")
}

func TestSave_AnErrorOfTheFillerLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, Save(path, blue, framesOf("old")))
	failed := errors.New("no idea how to write this")
	require.ErrorIs(t, Save(path, blue, func(write func([]byte)) error {
		write(bytes.Repeat([]byte("x"), 1<<20))
		return failed
	}), failed)
	requireOnly(t, path, "old")
}

func TestSave_AFolderThatIsNotThereIsAnError(t *testing.T) {
	require.ErrorIs(t, Save(filepath.Join(t.TempDir(), "no", "f"), blue, nil), fs.ErrNotExist)
}

// A link in the place of the temporary file would make the owner of the program overwrite a file of his.
func TestSave_DoesNotFollowALinkInThePlaceOfItsTemporaryFile(t *testing.T) {
	folder := t.TempDir()
	mine := filepath.Join(folder, "mine")
	require.NoError(t, os.WriteFile(mine, []byte("dear"), 0o600))
	path := filepath.Join(folder, "f")
	require.NoError(t, os.Symlink(mine, path+".tmp"))
	require.NoError(t, Save(path, blue, framesOf("new")))
	content, err := os.ReadFile(mine)
	require.NoError(t, err)
	require.Equal(t, "dear", string(content))
}

// requireOnly: the file has that frame, and nothing else is in its folder.
func requireOnly(t *testing.T, path, frame string) {
	t.Helper()
	frames, err := Load(path, blue)
	require.NoError(t, err)
	require.Equal(t, []string{frame}, asStrings(frames))
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// victimPath tells the test binary to be the process that is killed.
const victimPath = "PROGRESS_VICTIM_PATH"

// saveForEver saves files whose frames all say the same: the number of the save.
func saveForEver(path string) {
	for n := 1; ; n++ {
		err := Save(path, blue, func(write func([]byte)) error {
			for range 2000 {
				write(fmt.Appendf(nil, "%0512d", n))
			}
			return nil
		})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if n == 1 {
			fmt.Println("began")
		}
	}
}

// A writer that is killed at any moment leaves a whole file, of this save or of the one before.
func TestSave_AKilledWriterLeavesTheOldOrTheNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for round := range 9 {
		victim := exec.Command(os.Args[0])
		victim.Env = append(os.Environ(), victimPath+"="+path)
		out, err := victim.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, victim.Start())
		began := make([]byte, 5)
		_, err = io.ReadFull(out, began)
		require.NoError(t, err)
		require.Equal(t, "began", string(began))
		<-time.After(time.Duration(round) * 2 * time.Millisecond)
		require.NoError(t, victim.Process.Kill()) // SIGKILL
		_ = victim.Wait()                         // says that it was killed

		frames, err := Load(path, blue)
		require.NoError(t, err)
		require.Len(t, frames, 2000)
		for _, f := range frames {
			require.Equal(t, frames[0], f, "half of one file and half of another")
		}
	}
}
