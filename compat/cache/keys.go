package cache

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MetaNamespaceKeyFunc names an object <namespace>/<name>, or <name> if it has no namespace. An ExplicitKey is its own
// name. It is an error if obj is neither.
func MetaNamespaceKeyFunc(obj any) (string, error) {
	if key, ok := obj.(ExplicitKey); ok {
		return string(key), nil
	}
	name, err := ObjectToName(obj)
	if err != nil {
		return "", err
	}
	return name.String(), nil
}

// DeletionHandlingMetaNamespaceKeyFunc is MetaNamespaceKeyFunc that gives a tombstone the key it carries.
func DeletionHandlingMetaNamespaceKeyFunc(obj any) (string, error) {
	if d, ok := obj.(DeletedFinalStateUnknown); ok {
		return d.Key, nil
	}
	return MetaNamespaceKeyFunc(obj)
}

// SplitMetaNamespaceKey is the inverse of MetaNamespaceKeyFunc. It is an error if key has more than one slash.
func SplitMetaNamespaceKey(key string) (namespace, name string, err error) {
	before, after, found := strings.Cut(key, "/")
	switch {
	case !found:
		return "", key, nil
	case strings.Contains(after, "/"):
		return "", "", fmt.Errorf("unexpected key format: %q", key)
	}
	return before, after, nil
}

// ObjectToName returns the namespace and name of an object. It is an error if obj has no metadata.
func ObjectToName(obj any) (ObjectName, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return ObjectName{}, fmt.Errorf("object has no meta: %w", err)
	}
	return MetaObjectToName(accessor), nil
}

// DeletionHandlingObjectToName is ObjectToName that takes a tombstone's name from the key it carries.
func DeletionHandlingObjectToName(obj any) (ObjectName, error) {
	if d, ok := obj.(DeletedFinalStateUnknown); ok {
		return ParseObjectName(d.Key)
	}
	return ObjectToName(obj)
}

// MetaObjectToName returns the namespace and name of an object.
func MetaObjectToName(obj metav1.Object) ObjectName {
	return NewObjectName(obj.GetNamespace(), obj.GetName())
}

// NewObjectName makes an ObjectName of its two parts.
func NewObjectName(namespace, name string) ObjectName {
	return ObjectName{Namespace: namespace, Name: name}
}

// ParseObjectName is SplitMetaNamespaceKey that returns an ObjectName.
func ParseObjectName(str string) (ObjectName, error) {
	namespace, name, err := SplitMetaNamespaceKey(str)
	return NewObjectName(namespace, name), err
}

// NamespacedNameAsObjectName returns the same name as another type.
func NamespacedNameAsObjectName(nn types.NamespacedName) ObjectName {
	return NewObjectName(nn.Namespace, nn.Name)
}
