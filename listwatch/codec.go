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
	"k8s.io/client-go/kubernetes/scheme"

	"glasswatch/listwatch/wire"
)

const (
	acceptJSON     = runtime.ContentTypeJSON
	acceptProtobuf = runtime.ContentTypeProtobuf + ", " + runtime.ContentTypeJSON + ";q=0.9"
)

const partialMetadata = "PartialObjectMetadata"

var errNoName = errors.New("the object has no name")

// codec decodes the objects of one resource into one Go type. It is only read.
type codec[T Object] struct {
	elem                    reflect.Type // of the objects, without their pointer
	apiVersion              string       // of the resource
	kind, listKind          string       // empty: any kind
	metadata                bool         // the server is asked for the metadata alone
	acceptList, acceptWatch string
	decoder                 wire.Decoder
}

// newTypedCodec looks the kind of typ up in the scheme. A pointer to typ must be a T.
func newTypedCodec[T Object](known *runtime.Scheme, gv schema.GroupVersion, typ reflect.Type) (*codec[T], error) {
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("listwatch: %v is not a pointer to a struct", typ)
	}
	if known == nil {
		known = scheme.Scheme
	}
	c := &codec[T]{elem: typ.Elem(), acceptList: acceptJSON, acceptWatch: acceptJSON}
	gvks, _, err := known.ObjectKinds(c.newObject())
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
	c.listKind = c.kind + "List"
	if hasProtobuf(typ) {
		c.acceptList, c.acceptWatch = acceptProtobuf, acceptProtobuf
	}
	return c, nil
}

func hasProtobuf(typ reflect.Type) bool { return typ.Implements(reflect.TypeFor[wire.Message]()) }

// newUnstructuredCodec keeps whatever the server sends as a map. An empty kind is any kind of the group and version.
func newUnstructuredCodec(gv schema.GroupVersion, kind string) *codec[*unstructured.Unstructured] {
	return &codec[*unstructured.Unstructured]{
		elem:       reflect.TypeFor[unstructured.Unstructured](),
		apiVersion: gv.String(),
		kind:       kind,
		acceptList: acceptJSON, acceptWatch: acceptJSON,
	}
}

// newMetadataCodec asks the server for the metadata alone. A server that does not know how sends the whole object. Its
// metadata is read just the same.
func newMetadataCodec(gv schema.GroupVersion, protobuf bool) *codec[*metav1.PartialObjectMetadata] {
	accept := func(kind string) string {
		as := ";as=" + kind + ";g=meta.k8s.io;v=v1"
		plain := runtime.ContentTypeJSON + as + ";q=0.9, " + runtime.ContentTypeJSON + ";q=0.8"
		if !protobuf {
			return plain
		}
		return runtime.ContentTypeProtobuf + as + ", " + plain
	}
	return &codec[*metav1.PartialObjectMetadata]{
		elem:       reflect.TypeFor[metav1.PartialObjectMetadata](),
		apiVersion: gv.String(),
		metadata:   true,
		acceptList: accept(partialMetadata + "List"), acceptWatch: accept(partialMetadata),
	}
}

func (c *codec[T]) newObject() T { return reflect.New(c.elem).Interface().(T) }

// decode returns an object that has a name and is of the codec's kind. Nothing in it points into the wire's bytes.
// listKind is the kind of the list that the object is an item of, empty for an event.
func (c *codec[T]) decode(from wire.Object, listKind string) (none T, err error) {
	obj := c.newObject()
	asMap, isMap := any(obj).(*unstructured.Unstructured)
	if isMap {
		err = from.Decode(&asMap.Object, nil)
	} else {
		err = from.Decode(obj, c.decoder)
	}
	apiVersion, kind := from.APIVersion, from.Kind
	typeMeta := obj.GetObjectKind()
	if says := typeMeta.GroupVersionKind(); !says.Empty() {
		apiVersion, kind = says.ToAPIVersionAndKind()
		if !isMap {
			// Typed objects carry no kind, however they came: it is their Go type.
			typeMeta.SetGroupVersionKind(schema.GroupVersionKind{})
		}
	}
	// The wrong kind first: it is why a field has an unexpected type.
	if wrong := c.check(apiVersion, kind); wrong != nil {
		return none, wrong
	}
	if err != nil {
		return none, err
	}
	if obj.GetName() == "" {
		return none, errNoName
	}
	if isMap {
		c.fillTypeMeta(asMap, listKind)
	}
	return obj, nil
}

// check compares what an object says it is. An object that says nothing, as in most lists, is taken at the list's word.
func (c *codec[T]) check(apiVersion, kind string) error {
	if c.metadata && kind == partialMetadata || agrees(apiVersion, c.apiVersion) && agrees(kind, c.kind) {
		return nil
	}
	wanted := "a " + named(c.apiVersion, c.kind)
	if c.metadata {
		wanted = "the metadata of " + wanted + " object"
	}
	return fmt.Errorf("the object is a %s, not %s", named(apiVersion, kind), wanted)
}

// checkList refuses a list whose items cannot be objects of this codec.
func (c *codec[T]) checkList(apiVersion, kind string) error {
	if c.metadata && kind == partialMetadata+"List" || agrees(apiVersion, c.apiVersion) && agrees(kind, c.listKind) {
		return nil
	}
	wanted := named(c.apiVersion, c.listKind)
	if c.listKind == "" {
		wanted = "list of " + c.apiVersion
	}
	return fmt.Errorf("the server answered with a %s, not with a %s", named(apiVersion, kind), wanted)
}

// agrees: an empty string says nothing, or asks for nothing.
func agrees(says, wanted string) bool { return says == "" || wanted == "" || says == wanted }

func named(apiVersion, kind string) string { return strings.TrimSpace(apiVersion + " " + kind) }

// fillTypeMeta: the items of a list of a built-in type do not say what they are.
func (c *codec[T]) fillTypeMeta(u *unstructured.Unstructured, listKind string) {
	if u.GetKind() == "" {
		kind := c.kind
		if kind == "" {
			kind = strings.TrimSuffix(listKind, "List")
		}
		u.SetKind(kind)
	}
	if u.GetAPIVersion() == "" {
		u.SetAPIVersion(c.apiVersion)
	}
}
