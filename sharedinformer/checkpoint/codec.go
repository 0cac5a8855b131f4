package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"iter"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"glasswatch/internal/rv"
	"glasswatch/listwatch"
	"glasswatch/listwatch/resume"
)

// How an object is written in its frame: the first byte.
const (
	asJSON     = 'j'
	asProtobuf = 'p'
)

// header is the first frame; one for each object follows.
type header struct {
	ResourceVersion string `json:"resourceVersion"`
	Objects         int    `json:"objects"`
}

// protobufObject is what the generated protobuf code of a type offers.
type protobufObject interface {
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

// objectCodec writes and reads objects of one Go type.
type objectCodec[T listwatch.Object] struct {
	elem  reflect.Type // of T without its pointer
	shape string
}

// newObjectCodec fails if T does not say which Go type its objects have.
func newObjectCodec[T listwatch.Object]() (c objectCodec[T], err error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return c, fmt.Errorf("%v is no pointer to a struct", t)
	}
	return objectCodec[T]{t.Elem(), shapeOf(t)}, nil
}

// encode writes the header and a frame for each object.
func (c *objectCodec[T]) encode(write func([]byte), version string, count int, objs iter.Seq2[listwatch.Key, T]) error {
	first, err := json.Marshal(header{version, count})
	if err != nil {
		return err
	}
	write(first)
	for k, obj := range objs {
		frame, err := c.marshal(obj)
		if err != nil {
			return fmt.Errorf("object %s: %w", k, err)
		}
		write(frame)
	}
	return nil
}

// marshal only reads obj, which handlers read at the same time.
func (c *objectCodec[T]) marshal(obj T) ([]byte, error) {
	// A copy, because a Quantity remembers its text when it is written.
	duplicate := obj.DeepCopyObject()
	// Protobuf has no room for the kind, which objects rarely carry.
	if message, ok := duplicate.(protobufObject); ok && obj.GetObjectKind().GroupVersionKind().Empty() {
		data, err := message.Marshal()
		return append([]byte{asProtobuf}, data...), err
	}
	data, err := json.Marshal(jsonOf(duplicate))
	return append([]byte{asJSON}, data...), err
}

// jsonOf returns what is written as JSON and read from it: obj, but of an unstructured one the content.
func jsonOf(obj any) any {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return &u.Object
	}
	return obj
}

// decode reads what encode wrote. An error is a resume.ErrDamaged.
func (c *objectCodec[T]) decode(frames [][]byte) (version string, objs []T, err error) {
	damaged := func(what error) (string, []T, error) { return "", nil, fmt.Errorf("%w: %w", resume.ErrDamaged, what) }
	if len(frames) == 0 {
		return damaged(errors.New("it has no resourceVersion"))
	}
	var first header
	if err := json.Unmarshal(frames[0], &first); err != nil {
		return damaged(err)
	}
	frames = frames[1:]
	if first.Objects != len(frames) {
		return damaged(fmt.Errorf("it has %d objects, not %d", len(frames), first.Objects))
	}
	if err := rv.Check(first.ResourceVersion); err != nil {
		return damaged(err)
	}
	seen := make(map[listwatch.Key]bool, len(frames))
	for n, frame := range frames {
		obj, err := c.unmarshal(frame)
		if err != nil {
			return damaged(fmt.Errorf("object %d: %w", n, err))
		}
		k := listwatch.KeyOf(obj)
		if seen[k] || k.Name == "" {
			return damaged(fmt.Errorf("object %d: its key %q is missing or not its own", n, k))
		}
		seen[k] = true
		objs = append(objs, obj)
	}
	return first.ResourceVersion, objs, nil
}

func (c *objectCodec[T]) unmarshal(frame []byte) (obj T, err error) {
	obj = reflect.New(c.elem).Interface().(T)
	message, hasProtobuf := any(obj).(protobufObject)
	switch {
	case len(frame) > 0 && frame[0] == asJSON:
		return obj, utiljson.Unmarshal(frame[1:], jsonOf(obj))
	case len(frame) > 0 && frame[0] == asProtobuf && hasProtobuf:
		return obj, message.Unmarshal(frame[1:])
	}
	return obj, errors.New("no encoding that it can have")
}

// shapeOf names a type and sums up all of its fields. A program that was built with a field more would otherwise take
// over objects in which that field is missing.
func shapeOf(t reflect.Type) string {
	sum := sha256.New()
	writeShape(sum, t, map[reflect.Type]bool{})
	return t.String() + " " + hex.EncodeToString(sum.Sum(nil)[:8])
}

func writeShape(sum hash.Hash, t reflect.Type, seen map[reflect.Type]bool) {
	fmt.Fprintf(sum, "%s %s %s;", t.PkgPath(), t.String(), t.Kind())
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		writeShape(sum, t.Elem(), seen)
	case reflect.Map:
		writeShape(sum, t.Key(), seen)
		writeShape(sum, t.Elem(), seen)
	case reflect.Struct:
		for n := range t.NumField() {
			f := t.Field(n)
			if f.IsExported() {
				fmt.Fprintf(sum, "%s %s;", f.Name, f.Tag)
				writeShape(sum, f.Type, seen)
			}
		}
	}
}
