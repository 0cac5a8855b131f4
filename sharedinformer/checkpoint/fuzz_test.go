package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"glasswatch/listwatch"
	"glasswatch/listwatch/resume"
)

// FuzzCheckpointCodec reads frames that no checksum has kept away: whatever they are, there is an error, or objects with
// names that are all different, which are the same when they are written and read again.
func FuzzCheckpointCodec(f *testing.F) {
	join := func(frames [][]byte) (out []byte) {
		for _, frame := range frames {
			out = binary.AppendUvarint(out, uint64(len(frame)))
			out = append(out, frame...)
		}
		return out
	}
	f.Add(join(written(f, "17", &config{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "v"}})))
	for _, frames := range [][]string{
		{`{"resourceVersion":"5","objects":1}`, `j{"metadata":{"name":"x"}}`},
		{`{"resourceVersion":"5","objects":1}`, `j{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":{"a":"b"}},"data":{"k":"v"}}`},
		{`{"resourceVersion":"5","objects":1}`, `j{"metadata":{"name":"x","labels":null,"annotations":{}},"data":{}}`},
		{`{"resourceVersion":"5","objects":1}`, `j{"metadata":[]}`},
		{`{"resourceVersion":"5","objects":1}`, `j[]`},
		{`{"resourceVersion":"5","objects":1}`, `j"x"`},
		{`{"resourceVersion":"5","objects":1}`, `j{"metadata":{"name":7}}`},
		{`{"resourceVersion":"5","objects":1}`, `j{"metadata":{"name":"x"},"n":1e400}`},
		{`{"resourceVersion":"5","objects":1}`, `j{"metadata":{"name":"x"},"n":9007199254740993,"f":-0.0}`},
		{`{"resourceVersion":"-5","objects":0}`},
		{`{"resourceVersion":"0005","objects":0}`},
		{`{"resourceVersion":5,"objects":0}`},
		{`{"resourceVersion":"99999999999999999999999999","objects":0}`},
		{`{"resourceVersion":"5","objects":18446744073709551615}`},
	} {
		var raw [][]byte
		for _, frame := range frames {
			raw = append(raw, []byte(frame))
		}
		f.Add(join(raw))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var frames [][]byte
		for len(data) > 0 {
			n, used := binary.Uvarint(data)
			if used <= 0 || n > uint64(len(data)-used) {
				break
			}
			frames = append(frames, data[used:used+int(n)])
			data = data[used+int(n):]
		}
		requireDamagedOrSame[*config](t, frames)
		requireDamagedOrSame[*unstructured.Unstructured](t, frames)
	})
}

func requireDamagedOrSame[T listwatch.Object](t *testing.T, frames [][]byte) {
	codec, err := newObjectCodec[T]()
	require.NoError(t, err)
	version, read, err := codec.decode(frames)
	if err != nil {
		require.ErrorIs(t, err, resume.ErrDamaged)
		require.Empty(t, version)
		require.Nil(t, read)
		return
	}
	require.NotEmpty(t, version)
	require.Len(t, read, len(frames)-1)
	if _, loose := any(*new(T)).(*unstructured.Unstructured); loose {
		// Written as the server itself would: 1.0 as 1, and -0.0 as 0. After that it is the same for ever.
		_, read, err = codec.decode(written(t, version, read...))
		require.NoError(t, err)
	}
	objs := map[key]T{}
	for _, obj := range read {
		k := listwatch.KeyOf(obj)
		require.NotEmpty(t, k.Name)
		require.NotContains(t, objs, k)
		objs[k] = obj
	}
	againVersion, again, err := codec.decode(written(t, version, read...))
	require.NoError(t, err)
	require.Equal(t, version, againVersion)
	require.Len(t, again, len(objs))
	for _, obj := range again {
		old := objs[listwatch.KeyOf(obj)]
		require.True(t, apiequality.Semantic.DeepEqual(old, obj), "%v\n%v", old, obj)
	}
}

// FuzzCheckpointFile reads a file as an informer does that starts with it. Nothing of what is damaged, or about something
// else, is used.
func FuzzCheckpointFile(f *testing.F) {
	good := func(id resume.Identity, fill func(func([]byte)) error) []byte {
		return fileOf(f, id, fill)
	}
	two := func(write func([]byte)) error {
		write([]byte(`{"resourceVersion":"5","objects":1}`))
		write([]byte(`j{"metadata":{"name":"x"}}`))
		return nil
	}
	whole := good(codecTestID, two)
	other := codecTestID
	other.Cluster = "another"
	for _, file := range [][]byte{whole, whole[:len(whole)-1], append(bytes.Clone(whole), 0), whole[8:], {}, good(codecTestID, nil), good(other, two), bytes.Repeat(whole, 2)} {
		f.Add(file, false)
		f.Add(file, true)
	}
	codec, err := newObjectCodec[*config]()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, file []byte, seal bool) {
		intact := bytes.Equal(file, whole)
		if seal && len(file) > sha256.Size { // a checksum that fits lets the rest be looked at
			body := file[:len(file)-sha256.Size]
			sum := sha256.Sum256(body)
			file = append(bytes.Clone(body), sum[:]...)
		}
		frames, err := framesOf(t, file)
		var version string
		if err == nil {
			version, _, err = codec.decode(frames)
		}
		switch {
		case err == nil:
			require.NotEmpty(t, version)
			require.True(t, seal || intact, "a file of another content with a checksum that fits")
		default:
			require.NotEmpty(t, err.Error())
			require.False(t, intact, "%v", err)
		}
	})
}
