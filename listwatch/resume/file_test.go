package resume

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var blue = Identity{Kind: "test", Cluster: "blue", Source: "/api/v1/pods", Type: "Pod", Transform: "none"}

func framesOf(frames ...string) func(func([]byte)) error {
	return func(write func([]byte)) error {
		for _, f := range frames {
			write([]byte(f))
		}
		return nil
	}
}

func encoded(t require.TestingT, id Identity, frames ...string) []byte {
	var out bytes.Buffer
	require.NoError(t, encode(&out, id, framesOf(frames...)))
	return out.Bytes()
}

func asStrings(frames [][]byte) []string {
	out := []string{}
	for _, f := range frames {
		out = append(out, string(f))
	}
	return out
}

// A file is written, and read by who has the same identity.
func Example() {
	folder, _ := os.MkdirTemp("", "progress")
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "position")
	id := Identity{Kind: "position", Cluster: "https://10.0.0.1", Source: "/api/v1/pods"}

	err := Save(path, id, func(write func(frame []byte)) error {
		write([]byte("4711"))
		return nil
	})
	fmt.Println(err)
	frames, err := Load(path, id)
	fmt.Printf("%s %v\n", frames, err)

	id.Cluster = "https://10.0.0.2"
	_, err = Load(path, id)
	fmt.Println(errors.Is(err, ErrForeign))
	// Output:
	// <nil>
	// [4711] <nil>
	// true
}

func TestLoad_ReturnsWhatSaveWrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	rapid.Check(t, func(t *rapid.T) {
		frames := rapid.SliceOf(rapid.String()).Draw(t, "frames")
		require.NoError(t, Save(path, blue, framesOf(frames...)))
		read, err := Load(path, blue)
		require.NoError(t, err)
		if frames == nil {
			frames = []string{}
		}
		require.Equal(t, frames, asStrings(read))
	})
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), "objects may be secrets")
}

func TestDecode_AnyOtherBytesAreRefused(t *testing.T) {
	good := encoded(t, blue, "one", "", "three")
	rapid.Check(t, func(t *rapid.T) {
		bad := bytes.Clone(good)
		switch rapid.IntRange(0, 3).Draw(t, "how") {
		case 0:
			bad[rapid.IntRange(0, len(bad)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		case 1:
			bad = bad[:rapid.IntRange(0, len(bad)-1).Draw(t, "cut")]
		case 2:
			bad = append(bad, rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(t, "more")...)
		case 3:
			at := rapid.IntRange(0, len(bad)).Draw(t, "at")
			bad = append(bytes.Clone(bad[:at]), append([]byte{rapid.Byte().Draw(t, "in")}, bad[at:]...)...)
		}
		_, err := decode(bad, blue)
		require.True(t, errors.Is(err, ErrDamaged) || errors.Is(err, ErrVersion), "%v", err)
	})
}

// Each single bit of the file counts.
func TestDecode_EveryBitCounts(t *testing.T) {
	good := encoded(t, blue, "one", "two")
	for bit := range len(good) * 8 {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		_, err := decode(bad, blue)
		require.Error(t, err, "bit %d", bit)
	}
}

func TestDecode_AnotherIdentityIsForeign(t *testing.T) {
	for name, change := range map[string]func(*Identity){
		"kind":      func(i *Identity) { i.Kind = "x" },
		"cluster":   func(i *Identity) { i.Cluster = "x" },
		"source":    func(i *Identity) { i.Source = "x" },
		"type":      func(i *Identity) { i.Type = "x" },
		"transform": func(i *Identity) { i.Transform = "" },
	} {
		other := blue
		change(&other)
		_, err := decode(encoded(t, other), blue)
		require.ErrorIs(t, err, ErrForeign)
		require.ErrorContains(t, err, "its "+name+" is")
	}
}

func TestDecode_AnotherFormatVersionIsSaidToBeOne(t *testing.T) {
	data := encoded(t, blue)
	data[len(magic)-1]++
	_, err := decode(data, blue)
	require.ErrorIs(t, err, ErrVersion)
}

// sealed makes a file of any bytes, so that the frames are looked at.
func sealed(body []byte) []byte {
	data := append([]byte(magic), body...)
	sum := sha256.Sum256(data)
	return append(data, sum[:]...)
}

func FuzzDecode(f *testing.F) {
	good := encoded(f, blue, "one", "two")
	f.Add(good)
	f.Add(good[len(magic) : len(good)-sha256.Size])
	f.Fuzz(func(t *testing.T, data []byte) {
		if frames, err := decode(data, blue); err == nil {
			require.True(t, bytes.HasPrefix(data, []byte(magic)))
			require.LessOrEqual(t, total(frames), len(data))
		}
		frames, err := decode(sealed(data), blue)
		if err != nil {
			return
		}
		// Its identity may be spelled in another way; all else must be as if it was written by Encode.
		header, err := json.Marshal(blue)
		require.NoError(t, err)
		again := encoded(t, blue, asStrings(frames)...)
		require.LessOrEqual(t, len(again)-len(header), len(sealed(data)))
	})
}

func total(frames [][]byte) (n int) {
	for _, f := range frames {
		n += len(f)
	}
	return n
}
