package memo

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/internal/extent"
)

// twins decodes everything twice: with a Decoder and as the generated code does.
type twins struct {
	decoder *Decoder
	typ     reflect.Type
	ours    []generated
	theirs  []generated
}

func newTwins(typ reflect.Type) *twins {
	return &twins{decoder: New(Options{TableBytes: 1 << 16}), typ: typ} // often full
}

// decode requires the same object, or the same error with the same rest.
func (w *twins) decode(t require.TestingT, data []byte) {
	ours, theirs := newOf(w.typ), newOf(w.typ)
	wantErr := theirs.Unmarshal(slices.Clone(data))
	input := slices.Clone(data)
	err := w.decoder.Unmarshal(input, ours)
	for i := range input {
		input[i] ^= 0xFF // nothing may point in here
	}
	require.Equal(t, fmt.Sprint(wantErr), fmt.Sprint(err), "%v from %x", w.typ, data)
	if !reflect.DeepEqual(theirs, ours) {
		require.Equal(t, theirs, ours, "%v from %x", w.typ, data)
	}
	w.ours, w.theirs = append(w.ours, ours), append(w.theirs, theirs)
}

// stillEqual requires that no object was changed by what was decoded after it.
func (w *twins) stillEqual(t require.TestingT) {
	for n := range w.ours {
		require.True(t, reflect.DeepEqual(w.theirs[n], w.ours[n]), "%v number %d", w.typ, n)
	}
}

// A type that the decoder leaves to its own Unmarshal would pass all tests.
func TestNew_KnowsEveryTypeOfTheScheme(t *testing.T) {
	types := schemeTypes()
	require.Greater(t, len(types), 300)
	for _, typ := range types {
		if typ.Elem().Name() == "WatchEvent" {
			continue // it has no name on the wire of its own
		}
		require.NotNil(t, planOf(typ.Elem()), "%v %s", typ, typ.Elem().PkgPath())
		p := planOf(typ.Elem())
		for message, why := range customs(p) {
			require.Contains(t, []string{"Time", "MicroTime", "Quantity"}, message, why)
		}
	}
}

// customs are the names of the types in a plan that only their own Unmarshal can decode.
func customs(p *plan) map[string]string {
	found, seen := map[string]string{}, map[*message]bool{}
	var visit func(m *message)
	var visitField func(f *field)
	visitField = func(f *field) {
		if f.elem != nil {
			visitField(f.elem)
		}
		if f.msg != nil {
			visit(f.msg)
		}
	}
	visit = func(m *message) {
		if m.custom {
			found[m.typ.Name()] = fmt.Sprintf("in %v", p.root.typ)
		}
		if seen[m] {
			return
		}
		seen[m] = true
		for i := range m.fields {
			visitField(&m.fields[i])
		}
	}
	visit(p.root)
	return found
}

func TestUnmarshal_EqualsTheGeneratedOneForEveryTypeOfTheScheme(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, typ := range schemeTypes() {
		w := newTwins(typ)
		if planOf(w.typ.Elem()) == nil {
			continue
		}
		for range extent.Of(10, 40) {
			data := encode(random(typ, rng))
			for range 3 { // the first time it is new, the second it is remembered, the third it is found
				w.decode(t, data)
			}
		}
		w.stillEqual(t)
	}
}

// What a Marshal would not write: each of these is decoded as the generated code does it, or fails as it does.
func TestUnmarshal_EqualsTheGeneratedOneForWhatIsNotAsItShouldBe(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, typ := range schemeTypes() {
		w := newTwins(typ)
		if planOf(w.typ.Elem()) == nil {
			continue
		}
		for range extent.Of(3, 8) {
			data, other := encode(random(typ, rng)), encode(random(typ, rng))
			w.decode(t, data)
			w.decode(t, data)
			w.decode(t, append(slices.Clone(data), other...)) // everything is merged
			w.decode(t, append(slices.Clone(data), data...))
			w.decode(t, append(slices.Clone(data), unknownFields(rng)...))
			w.decode(t, append(unknownFields(rng), data...))
			w.decode(t, data[:rng.IntN(len(data)+1)])
			for range 6 {
				w.decode(t, spoilt(data, rng))
			}
			w.decode(t, data)
		}
		w.stillEqual(t)
	}
}

func unknownFields(rng *rand.Rand) []byte {
	var data []byte
	for range 1 + rng.IntN(3) {
		number := uint64(100 + rng.IntN(1000))
		switch wire := uint64(rng.IntN(7)); wire {
		case 0:
			data = binary.AppendUvarint(binary.AppendUvarint(data, number<<3), rng.Uint64())
		case 1:
			data = append(binary.AppendUvarint(data, number<<3|1), make([]byte, 8)...)
		case 2:
			data = append(binary.AppendUvarint(data, number<<3|2), 3, 1, 2, 3)
		case 5:
			data = append(binary.AppendUvarint(data, number<<3|5), make([]byte, 4)...)
		case 3: // a group, with an end
			data = binary.AppendUvarint(binary.AppendUvarint(data, number<<3|3), number<<3|4)
		default:
			data = binary.AppendUvarint(data, number<<3|wire)
		}
	}
	return data
}

// spoilt returns data with a byte changed, put in or left out.
func spoilt(data []byte, rng *rand.Rand) []byte {
	if len(data) == 0 {
		return []byte{byte(rng.IntN(256))}
	}
	at := rng.IntN(len(data))
	switch rng.IntN(4) {
	case 0:
		return slices.Insert(slices.Clone(data), at, byte(rng.IntN(256)))
	case 1:
		return slices.Delete(slices.Clone(data), at, at+1)
	case 2: // a length or number grows
		out := slices.Clone(data)
		out[at] |= 0x80
		return out
	}
	out := slices.Clone(data)
	out[at] = byte(rng.IntN(256))
	return out
}

// bytesField is a field of wire type 2.
func bytesField(number uint64, body []byte) []byte {
	out := binary.AppendUvarint(nil, number<<3|wireBytes)
	return append(binary.AppendUvarint(out, uint64(len(body))), body...)
}

func TestUnmarshal_EqualsTheGeneratedOneForWhatOthersWrite(t *testing.T) {
	labels := func(entries ...[]byte) []byte {
		var meta []byte
		for _, entry := range entries {
			meta = append(meta, bytesField(11, entry)...)
		}
		return bytesField(1, meta)
	}
	key, value := bytesField(1, []byte("k")), bytesField(2, []byte("v"))
	groups := func(wire ...byte) []byte { // spec.securityContext.supplementalGroups
		return bytesField(2, bytesField(14, append([]byte{4<<3 | wire[0]}, wire[1:]...)))
	}
	overlong := append([]byte{1<<3 | wireBytes, 0x85, 0x80, 0x80, 0x00}, "\x0a\x03abc"...)
	for name, data := range map[string][]byte{
		"nothing":                      {},
		"a message of no bytes":        {1<<3 | wireBytes, 0},
		"value before key":             labels(slices.Concat(value, key)),
		"a key without a value":        labels(key),
		"a value without a key":        labels(value),
		"an entry of nothing":          labels(nil),
		"a key twice in one entry":     labels(slices.Concat(key, bytesField(1, []byte("l")), value)),
		"an entry with more":           labels(slices.Concat(key, value, bytesField(3, []byte("x")))),
		"the same key in two entries":  labels(slices.Concat(key, value), slices.Concat(key, bytesField(2, []byte("w")))),
		"one number after the other":   groups(0, 1, 4<<3, 2, 4<<3, 3),
		"packed numbers":               groups(2, 3, 1, 2, 3),
		"no packed numbers":            groups(2, 0),
		"a negative number":            groups(0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01),
		"a number of too many bits":    groups(0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F),
		"a number that does not end":   groups(0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01),
		"a length of more than needed": overlong,
		"field number 0":               {0, 0},
		"a field number too large":     {0xF8, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0},
		"the wrong wire type":          {1<<3 | wireVarint, 1},
		"the end of a group":           {1<<3 | 4},
		"repeated, with something between": slices.Concat(bytesField(2, bytesField(2, bytesField(1, []byte("a")))),
			bytesField(2, slices.Concat(bytesField(2, bytesField(1, []byte("b"))), bytesField(3, []byte("Always")), bytesField(2, bytesField(1, []byte("c")))))),
	} {
		t.Run(name, func(t *testing.T) {
			w := newTwins(reflect.TypeFor[*corev1.Pod]())
			for range 3 {
				w.decode(t, data)
			}
			w.stillEqual(t)
		})
	}
}

func TestUnmarshal_LeavesOtherTypesToTheirOwnUnmarshal(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[foreign](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[int]()} {
		require.Nil(t, planOf(typ), "%v", typ)
	}
	d, obj := New(Options{}), &foreign{Name: "before"}
	require.NoError(t, d.Unmarshal([]byte("quiet"), obj))
	require.Equal(t, "QUIET", obj.Name)
	require.NoError(t, d.Unmarshal([]byte("quiet"), byValue{}))
	require.Zero(t, d.stats())
}

// foreign has tags that say one thing and an Unmarshal that does another.
type foreign struct {
	Name string `protobuf:"bytes,1,opt,name=name"`
}

func (f *foreign) Unmarshal(data []byte) error {
	f.Name = strings.ToUpper(string(data))
	return nil
}

// byValue is an unmarshaler that is no pointer.
type byValue struct{}

func (byValue) Unmarshal([]byte) error { return nil }

func FuzzUnmarshal(f *testing.F) {
	types := schemeTypes()
	rng := rand.New(rand.NewPCG(5, 6))
	for n, typ := range types {
		f.Add(uint16(n), encode(random(typ, rng)))
	}
	f.Fuzz(func(t *testing.T, n uint16, data []byte) {
		w := newTwins(types[int(n)%len(types)])
		if planOf(w.typ.Elem()) == nil {
			return
		}
		for range 3 {
			w.decode(t, data)
		}
		w.stillEqual(t)
	})
}
