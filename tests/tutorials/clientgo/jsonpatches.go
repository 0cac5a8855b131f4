package clientgo

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"glasswatch/tests/tutorials/play"
)

// JSONPatches sends each of the six operations of a JSON patch, an empty patch, and patches that fail. No Get comes before: the server
// changes what it has. If one operation of a patch fails, none is done. cmd/02-crud has the three other kinds of patches.
//
// Ways: the layers read; all writes are client-go's.
func JSONPatches(p *play.Play) {
	maps := p.Client().CoreV1().ConfigMaps("default")
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"x": "1"}}
	version := play.Must(maps.Create(p.Context(), object, metav1.CreateOptions{})).ResourceVersion
	p.Print("%-60s %v", "created", object.Data)
	patch := func(name, operations string) {
		patched, err := maps.Patch(p.Context(), name, types.JSONPatchType, []byte(operations), metav1.PatchOptions{})
		if err != nil {
			reason, _, _ := strings.Cut(err.Error(), ":")
			p.Print("%-60s %s: %s", operations, apierrors.ReasonForError(err), reason)
			return
		}
		p.Print("%-60s %v, another version: %t", operations, patched.Data, patched.ResourceVersion != version)
		version = patched.ResourceVersion
	}
	patch("a", `[{"op":"add","path":"/data/y","value":"2"}]`)
	patch("a", `[{"op":"replace","path":"/data/x","value":"3"}]`)
	patch("a", `[{"op":"copy","from":"/data/x","path":"/data/z"}]`)
	patch("a", `[{"op":"move","from":"/data/y","path":"/data/x"}]`)
	patch("a", `[{"op":"test","path":"/data/x","value":"2"}]`)
	patch("a", `[{"op":"remove","path":"/data/z"}]`)
	patch("a", `[]`)
	p.Print("failures:")
	patch("a", `[{"op":"test","path":"/data/x","value":"9"}]`)
	patch("a", `[{"op":"remove","path":"/data/z"}]`)
	patch("a", `[{"op":"remove","path":"/data/x"},{"op":"replace","path":"/no/where","value":"1"}]`)
	patch("b", `[{"op":"add","path":"/data/y","value":"2"}]`)
	p.Print("%-60s %v", "after them", play.Must(maps.Get(p.Context(), "a", metav1.GetOptions{})).Data)
}
