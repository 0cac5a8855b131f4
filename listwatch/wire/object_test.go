package wire

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// Cutting a protobuf list into items relies on every list type having its items in field 2 and its metadata in field 1.
func TestProtobufList_EveryListTypeOfTheSchemeIsCutIntoItsItems(t *testing.T) {
	checked := 0
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		itemType, isKind := scheme.Scheme.AllKnownTypes()[gvk.GroupVersion().WithKind(strings.TrimSuffix(gvk.Kind, "List"))]
		if !strings.HasSuffix(gvk.Kind, "List") || !isKind || gvk.Version == runtime.APIVersionInternal {
			continue
		}
		list := reflect.New(typ).Interface().(runtime.Object)
		items := reflect.ValueOf(list).Elem().FieldByName("Items")
		if _, isObject := reflect.New(itemType).Interface().(metav1.Object); !items.IsValid() || !isObject {
			continue // APIGroupList and its like are not lists of objects
		}
		items.Set(reflect.MakeSlice(items.Type(), 2, 2))
		for i, name := range []string{"first", "second"} {
			require.Equal(t, itemType, items.Index(i).Type(), "%v", gvk)
			items.Index(i).Addr().Interface().(metav1.Object).SetName(name)
		}
		accessor, err := meta.ListAccessor(list)
		require.NoError(t, err)
		accessor.SetResourceVersion("9")
		list.GetObjectKind().SetGroupVersionKind(gvk)
		parts, err := asProtobuf.List(encode(t, protoType, list))
		require.NoError(t, err, "%v", gvk)
		assert.Equal(t, "9", parts.ResourceVersion, "%v", gvk)
		var names []string
		for _, item := range parts.Items {
			key, _ := item.Key()
			names = append(names, key.Name)
		}
		assert.Equal(t, []string{"first", "second"}, names, "%v", gvk)
		checked++
	}
	assert.Greater(t, checked, 50)
}

func TestKey_HalfAKeyIsNoKey(t *testing.T) {
	for _, tc := range []struct{ object, want string }{
		{`{"metadata":{"namespace":"n","name":"x"}}`, "n/x"},
		{`{"metadata":{"namespace":"n","name":"x"`, "/"},
		{`{"metadata":{"namespace":"n"}}`, "/"},
		{`{"metadata":{"namespace":{},"name":"x"}}`, "/"},
		{`{"metadata":{"namespace":"n","name":7}}`, "/"},
		{`{"metadata":{"name":"x" "namespace":"n"}}`, "/"},
		{`{"metadata":"x"}`, "/"},
		{"{\"metadata\":{\"name\":\"\xe3\xe3\"}}", "/\ufffd\ufffd"}, // as in the object itself
		{``, "/"},
	} {
		key, _ := Object{isJSON: true, bytes: []byte(tc.object)}.Key()
		assert.Equal(t, tc.want, key.String(), tc.object)
	}
	// Metadata that breaks off behind the name may have had a namespace.
	key, _ := Object{bytes: []byte("\x0a\x04\x0a\x01x\x1a")}.Key()
	assert.Equal(t, types.NamespacedName{}, key)
	// So may metadata whose namespace is a number.
	key, _ = Object{bytes: []byte("\x0a\x05\x0a\x01x\x18\x07")}.Key()
	assert.Equal(t, types.NamespacedName{}, key)
	key, _ = Object{bytes: []byte("\x0a\x05\x0a\x01x\x38\x07")}.Key() // a generation is one
	assert.Equal(t, types.NamespacedName{Name: "x"}, key)
	key, _ = Object{bytes: []byte("\x0a\x03\x0a\x01x")}.Key()
	assert.Equal(t, types.NamespacedName{Name: "x"}, key)
}
