package listwatch

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// codec decodes one kind of Go type. Nothing it returns points into the bytes it was given. It only reads its fields and
// so may be shared.
type codec[T Object] interface {
	// fromJSON decodes one object. list is what the list around it says, empty for an event.
	fromJSON(object []byte, list typeMeta) (T, error)
	// fromProtobuf decodes an object without its envelope; object is what the envelope said, empty in a list.
	fromProtobuf(raw []byte, object typeMeta) (T, error)
	// checkList refuses a list whose items cannot be objects of this codec.
	checkList(list typeMeta) error
	// accept is the Accept header's value for lists, or for watches.
	accept(list bool) string
	// sharing returns a codec whose objects share their parts: see [Client.Sharing].
	sharing(share func(T) (T, error)) codec[T]
}

const (
	acceptJSON     = runtime.ContentTypeJSON
	acceptProtobuf = runtime.ContentTypeProtobuf + ", " + runtime.ContentTypeJSON + ";q=0.9"
)

var errNoName = errors.New("the object has no name")

// unmarshaler is what the generated protobuf code of a type offers.
type unmarshaler interface {
	Unmarshal([]byte) error
}

// typedCodec decodes into the Go type of one kind.
type typedCodec[T Object] struct {
	elem                 reflect.Type // of the objects, without their pointer
	apiVersion, kind     string
	protobuf             bool
	acceptList, acceptEv string
	sharer               sharer[T]
}

// newTypedCodec looks the kind of typ up in the scheme. A pointer to typ must be a T.
func newTypedCodec[T Object](scheme *runtime.Scheme, gv schema.GroupVersion, typ reflect.Type) (*typedCodec[T], error) {
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("listwatch: %v is not a pointer to a struct", typ)
	}
	c := &typedCodec[T]{elem: typ.Elem(), acceptList: acceptJSON, acceptEv: acceptJSON}
	gvks, _, err := scheme.ObjectKinds(c.newObject())
	if err != nil {
		return nil, fmt.Errorf("listwatch: the kind of %v: %w", typ, err)
	}
	for _, gvk := range gvks {
		if gvk.GroupVersion() == gv {
			c.apiVersion, c.kind = gvk.ToAPIVersionAndKind()
		}
	}
	if c.kind == "" {
		return nil, fmt.Errorf("listwatch: %v is a kind of %v, but the client talks to %v", typ, gvks[0].GroupVersion(), gv)
	}
	if _, c.protobuf = any(c.newObject()).(unmarshaler); c.protobuf {
		c.acceptList, c.acceptEv = acceptProtobuf, acceptProtobuf
	}
	return c, nil
}

func (c *typedCodec[T]) newObject() T { return reflect.New(c.elem).Interface().(T) }

func (c *typedCodec[T]) sharing(share func(T) (T, error)) codec[T] {
	shared := *c
	shared.sharer = newSharer(reflect.PointerTo(c.elem), share)
	return &shared
}

func (c *typedCodec[T]) accept(list bool) string {
	if list {
		return c.acceptList
	}
	return c.acceptEv
}

func (c *typedCodec[T]) checkList(list typeMeta) error {
	return checkListKind(list, c.apiVersion, c.kind)
}

// check compares what an object says it is. One that says nothing, as in most lists, is taken at the list's word.
func (c *typedCodec[T]) check(apiVersion, kind string) error {
	if (apiVersion != "" && apiVersion != c.apiVersion) || (kind != "" && kind != c.kind) {
		return fmt.Errorf("the object is a %s %s, not a %s %s", apiVersion, kind, c.apiVersion, c.kind)
	}
	return nil
}

func (c *typedCodec[T]) fromJSON(object []byte, _ typeMeta) (none T, err error) {
	obj := c.newObject()
	err = utiljson.Unmarshal(object, obj)
	if err != nil {
		// An object of another kind often fails for a field of the same name and another type: name the cause.
		var says metav1.TypeMeta
		_ = utiljson.Unmarshal(object, &says)
		if wrong := c.check(says.APIVersion, says.Kind); wrong != nil {
			err = wrong
		}
		return none, err
	}
	kind := obj.GetObjectKind()
	if gvk := kind.GroupVersionKind(); !gvk.Empty() {
		if err := c.check(gvk.ToAPIVersionAndKind()); err != nil {
			return none, err
		}
		// Typed objects carry no kind, whichever way they came: it is their Go type.
		kind.SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return c.sharer.share(named(obj))
}

func (c *typedCodec[T]) fromProtobuf(raw []byte, object typeMeta) (none T, err error) {
	// Compared here first, because check's strings would be allocated for each object.
	if len(object.kind)+len(object.apiVersion) > 0 && (string(object.kind) != c.kind || string(object.apiVersion) != c.apiVersion) {
		if err := c.check(string(object.apiVersion), string(object.kind)); err != nil {
			return none, err
		}
	}
	obj := c.newObject()
	message, ok := any(obj).(unmarshaler)
	if !ok {
		return none, fmt.Errorf("%T cannot be decoded from protobuf", obj)
	}
	if err := c.sharer.unmarshal(raw, message); err != nil {
		return none, err
	}
	return c.sharer.shareUnlessKnown(named(obj))
}

// named refuses an object that could not be told from the others.
func named[T Object](obj T) (none T, err error) {
	if obj.GetName() == "" {
		return none, errNoName
	}
	return obj, nil
}

// checkListKind refuses a list that says it is another; what it leaves out is taken to be right.
func checkListKind(list typeMeta, apiVersion, kind string) error {
	if len(list.apiVersion) > 0 && string(list.apiVersion) != apiVersion || len(list.kind) > 0 && string(list.kind) != kind+"List" {
		return fmt.Errorf("the server answered with a %s, not a %s %sList", list, apiVersion, kind)
	}
	return nil
}

// unstructuredCodec keeps whatever the server sends as a map. It reads JSON only.
type unstructuredCodec struct {
	apiVersion string
	kind       string // empty: any kind of that group and version
	sharer     sharer[*unstructured.Unstructured]
}

func (c unstructuredCodec) sharing(share func(*unstructured.Unstructured) (*unstructured.Unstructured, error)) codec[*unstructured.Unstructured] {
	c.sharer = newSharer(nil, share)
	return c
}

func (unstructuredCodec) accept(bool) string { return acceptJSON }

func (c unstructuredCodec) checkList(list typeMeta) error {
	if len(list.apiVersion) > 0 && string(list.apiVersion) != c.apiVersion {
		return fmt.Errorf("the server answered with a %s, not with a list of %s", list, c.apiVersion)
	}
	return nil
}

func (c unstructuredCodec) fromJSON(object []byte, list typeMeta) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(object, &u.Object); err != nil {
		return nil, err
	}
	if u.Object == nil {
		return nil, errNoName
	}
	// The items of a list of a built-in type do not say what they are.
	if u.GetKind() == "" {
		kind := c.kind
		if kind == "" {
			kind = strings.TrimSuffix(string(list.kind), "List")
		}
		u.SetKind(kind)
	}
	if u.GetAPIVersion() == "" {
		u.SetAPIVersion(c.apiVersion)
	}
	if u.GetAPIVersion() != c.apiVersion || (c.kind != "" && u.GetKind() != c.kind) {
		return nil, fmt.Errorf("the object is a %s %s, not a %s", u.GetAPIVersion(), u.GetKind(), strings.TrimSpace(c.apiVersion+" "+c.kind))
	}
	return c.sharer.share(named(u))
}

func (unstructuredCodec) fromProtobuf([]byte, typeMeta) (*unstructured.Unstructured, error) {
	return nil, errors.New("an unstructured object cannot be decoded from protobuf")
}

// metadataCodec asks the server for the metadata alone. A server that does not know how sends the whole object, from
// which the metadata is read just the same.
type metadataCodec struct {
	apiVersion string // of the resource
	protobuf   bool
	sharer     sharer[*metav1.PartialObjectMetadata]
}

func (c metadataCodec) sharing(share func(*metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error)) codec[*metav1.PartialObjectMetadata] {
	c.sharer = newSharer(reflect.TypeFor[*metav1.PartialObjectMetadata](), share)
	return c
}

func (c metadataCodec) accept(list bool) string {
	as := ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	if list {
		as = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	}
	plain := runtime.ContentTypeJSON + as + ";q=0.9, " + runtime.ContentTypeJSON + ";q=0.8"
	if !c.protobuf {
		return plain
	}
	return runtime.ContentTypeProtobuf + as + ", " + plain
}

func (c metadataCodec) checkList(list typeMeta) error {
	if string(list.kind) == "PartialObjectMetadataList" || string(list.apiVersion) == c.apiVersion || len(list.apiVersion) == 0 {
		return nil
	}
	return fmt.Errorf("the server answered with a %s, not with metadata of %s objects", list, c.apiVersion)
}

func (c metadataCodec) check(apiVersion, kind string) error {
	if kind == "PartialObjectMetadata" || apiVersion == "" || apiVersion == c.apiVersion {
		return nil
	}
	return fmt.Errorf("the object is a %s %s, not the metadata of a %s object", apiVersion, kind, c.apiVersion)
}

func (c metadataCodec) fromJSON(object []byte, _ typeMeta) (*metav1.PartialObjectMetadata, error) {
	obj := &metav1.PartialObjectMetadata{}
	if err := utiljson.Unmarshal(object, obj); err != nil {
		return nil, err
	}
	if err := c.check(obj.APIVersion, obj.Kind); err != nil {
		return nil, err
	}
	obj.TypeMeta = metav1.TypeMeta{}
	return c.sharer.share(named(obj))
}

func (c metadataCodec) fromProtobuf(raw []byte, object typeMeta) (*metav1.PartialObjectMetadata, error) {
	if err := c.check(string(object.apiVersion), string(object.kind)); err != nil {
		return nil, err
	}
	obj := &metav1.PartialObjectMetadata{}
	if err := c.sharer.unmarshal(raw, obj); err != nil {
		return nil, err
	}
	return c.sharer.shareUnlessKnown(named(obj))
}
