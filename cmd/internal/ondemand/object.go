package ondemand

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Object is an object of any kind as the server sent it: its JSON, and the fields by which it is found. So an answer is
// a copy of bytes, and a field that this program's version of the API does not know is not lost.
type Object struct {
	metav1.TypeMeta
	metav1.ObjectMeta // namespace, name, uid, resourceVersion and labels; the rest is in the JSON only
	text              []byte
	saysKind          bool
}

// JSON is the object in one line. It must not be modified.
func (o *Object) JSON() []byte { return o.text }

// UnmarshalJSON keeps the text. Names of fields are case-sensitive: Metadata is a field of the custom resource's own.
func (o *Object) UnmarshalJSON(text []byte) error {
	var about struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct {
			Namespace       string            `json:"namespace"`
			Name            string            `json:"name"`
			UID             types.UID         `json:"uid"`
			ResourceVersion string            `json:"resourceVersion"`
			Labels          map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	if err := utiljson.Unmarshal(text, &about); err != nil {
		return err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	m := about.Metadata
	*o = Object{TypeMeta: about.TypeMeta, text: line.Bytes(), saysKind: about.Kind != "", ObjectMeta: metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Labels: m.Labels}}
	return nil
}

// DeepCopyObject shares the text, which nobody modifies.
func (o *Object) DeepCopyObject() runtime.Object {
	copied := *o
	o.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// sayKind: the items of a list do not say what they are.
func (o *Object) sayKind(gvk schema.GroupVersionKind) *Object {
	if !o.saysKind {
		o.saysKind = true
		o.text = fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,%s`, gvk.GroupVersion(), gvk.Kind, o.text[1:])
	}
	return o
}
