package listwatch

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"glasswatch/listwatch/shard"
	"glasswatch/listwatch/wire"
)

const (
	acceptJSON     = runtime.ContentTypeJSON
	acceptProtobuf = runtime.ContentTypeProtobuf + ", " + runtime.ContentTypeJSON + ";q=0.9"
)

const partialMetadata = "PartialObjectMetadata"

var (
	errNoName  = errors.New("the object has no name")
	errForeign = errors.New("the object is not in the shard") // the puller takes it out: users never see it
)

// codec decodes the objects of one resource into one Go type. Nothing writes to it once the client is made.
type codec[T Object] struct {
	elem                    reflect.Type // of the objects, without their pointer
	metav1.TypeMeta                      // of the objects; an empty Kind is any kind
	listKind                string       // empty: any kind
	wants                   string       // for errors: what an object should be
	metadata                bool         // the server is asked for the metadata alone
	acceptList, acceptWatch string
	decoder                 wire.Decoder
	shard                   shard.Filter
}

// newTypedCodec looks the kind of typ up in the scheme. typ is a pointer to a struct, and must itself be a T.
func newTypedCodec[T Object](known *runtime.Scheme, gv schema.GroupVersion, typ reflect.Type) (*codec[T], error) {
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("listwatch: %v is not a pointer to a struct", typ)
	}
	if known == nil {
		known = scheme.Scheme
	}
	c := &codec[T]{elem: typ.Elem(), acceptList: acceptJSON, acceptWatch: acceptJSON}
	gvks, _, err := known.ObjectKinds(reflect.New(c.elem).Interface().(T))
	if err != nil {
		return nil, fmt.Errorf("listwatch: the kind of %v: %w", typ, err)
	}
	for _, gvk := range gvks {
		if gvk.GroupVersion() == gv {
			c.APIVersion, c.Kind = gvk.ToAPIVersionAndKind()
		}
	}
	if c.Kind == "" {
		const text = "listwatch: %v is a kind of %v, but the client talks to %v"
		return nil, fmt.Errorf(text, typ, gvks[0].GroupVersion(), gv)
	}
	c.listKind, c.wants = c.Kind+"List", "a "+named(c.TypeMeta)
	if hasProtobuf(typ) {
		c.acceptList, c.acceptWatch = acceptProtobuf, acceptProtobuf
	}
	return c, nil
}

func hasProtobuf(typ reflect.Type) bool {
	return typ.Implements(reflect.TypeFor[interface{ Unmarshal(data []byte) error }]())
}

// newUnstructuredCodec keeps whatever the server sends as a map. An empty kind is any kind of the group and version.
func newUnstructuredCodec(gv schema.GroupVersion, kind string) *codec[*unstructured.Unstructured] {
	is := metav1.TypeMeta{APIVersion: gv.String(), Kind: kind}
	return &codec[*unstructured.Unstructured]{
		elem:       reflect.TypeFor[unstructured.Unstructured](),
		TypeMeta:   is,
		wants:      "a " + named(is),
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
		TypeMeta:   metav1.TypeMeta{APIVersion: gv.String()},
		metadata:   true,
		wants:      "the metadata of a " + gv.String() + " object",
		acceptList: accept(partialMetadata + "List"), acceptWatch: accept(partialMetadata),
	}
}

// decode returns an object that has a name and is of the codec's kind. Nothing in it points into the wire's bytes.
// listKind is the kind of the list that the object is an item of, empty for an event. An object outside of the shard is
// errForeign, without being decoded unless its metadata is in doubt.
func (c *codec[T]) decode(from wire.Object, listKind string) (none T, err error) {
	shardChecked := c.shard.Field == "" // there is no shard
	if !shardChecked {
		var meta metav1.ObjectMeta
		if meta, shardChecked = from.Metadata(); shardChecked && c.shard.Drops(&meta) {
			return none, errForeign
		}
	}
	obj, is, err := c.decodeAny(from)
	// The kind comes before err: if it is wrong, a field of an unexpected type is only the consequence.
	if is != c.TypeMeta && !c.agrees(is, c.Kind, partialMetadata) {
		return none, fmt.Errorf("the object is a %s, not %s", named(is), c.wants)
	}
	if err != nil {
		return none, err
	}
	if obj.GetName() == "" {
		return none, errNoName
	}
	if !shardChecked && c.shard.Drops(obj) {
		return none, errForeign
	}
	if u, isMap := any(obj).(*unstructured.Unstructured); isMap {
		c.fillTypeMeta(u, listKind)
	}
	return obj, nil
}

// decodeAny decodes an object, and says which kind it is by its own account: that is known even if the rest is an error.
// A typed object loses its kind: it is its Go type.
func (c *codec[T]) decodeAny(from wire.Object) (obj T, is metav1.TypeMeta, err error) {
	obj = reflect.New(c.elem).Interface().(T)
	u, isMap := any(obj).(*unstructured.Unstructured)
	if isMap {
		err = decodeMap(from, u)
	} else {
		err = from.Decode(obj, c.decoder)
	}
	is = from.TypeMeta
	typeMeta := obj.GetObjectKind()
	if says := typeMeta.GroupVersionKind(); !says.Empty() {
		is.APIVersion, is.Kind = says.ToAPIVersionAndKind()
	}
	if !isMap {
		typeMeta.SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return obj, is, err
}

// decodeMap refuses a namespace that is no string. A map takes one of any type, but the key would be another object's.
func decodeMap(from wire.Object, into *unstructured.Unstructured) error {
	err := from.Decode(&into.Object, nil)
	if err != nil {
		return err
	}
	ns, _, _ := unstructured.NestedFieldNoCopy(into.Object, "metadata", "namespace")
	if ns != nil && ns != any(into.GetNamespace()) {
		return fmt.Errorf("the namespace is %v, expected a string", ns)
	}
	return nil
}

// checkList refuses a list whose items cannot be objects of this codec.
func (c *codec[T]) checkList(is metav1.TypeMeta) error {
	if c.agrees(is, c.listKind, partialMetadata+"List") {
		return nil
	}
	return fmt.Errorf("the server answered with a %s, not with a list of %s", named(is), c.wants)
}

// agrees compares what an object says it is. What it does not say, as in most lists, is taken to be right.
func (c *codec[T]) agrees(is metav1.TypeMeta, kind, asMetadata string) bool {
	if c.metadata && is.Kind == asMetadata {
		return true
	}
	return (is.APIVersion == "" || is.APIVersion == c.APIVersion) && (is.Kind == "" || kind == "" || is.Kind == kind)
}

func named(is metav1.TypeMeta) string { return strings.TrimSpace(is.APIVersion + " " + is.Kind) }

// fillTypeMeta: the items of a list of a built-in type do not say what they are.
func (c *codec[T]) fillTypeMeta(u *unstructured.Unstructured, listKind string) {
	if u.GetKind() == "" {
		u.SetKind(cmp.Or(c.Kind, strings.TrimSuffix(listKind, "List")))
	}
	if u.GetAPIVersion() == "" {
		u.SetAPIVersion(c.APIVersion)
	}
}
