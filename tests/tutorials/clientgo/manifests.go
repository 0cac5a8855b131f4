package clientgo

import (
	"errors"
	"io"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"glasswatch/tests/tutorials/play"
)

const manifest = `# a shop
apiVersion: v1
kind: ConfigMap
metadata:
  name: shop
data:
  rule: |
    ---
    is no end of a document here
---
# nothing but a comment
---
apiVersion: v1
kind: Service
metadata:
  name: shop
spec:
  ports: [{port: 80}]
`

// Manifests leads from YAML text to objects in four steps. Decoding without looking at the kind fills a Deployment from a ConfigMap,
// without an error. Reading the kind first works for one document. A stream decoder finds the documents. An apply configuration
// has only the fields that the text has, so that applying it owns nothing else.
//
// Often said: "split the file at ---". The ConfigMap of this text has such a line in a value. tests/pitfalls plays it
// (SplittingAManifestAtThreeDashes). cmd/kubectl-lite is the whole program.
//
// Ways: decoding has nothing to do with the layers.
func Manifests(p *play.Play) {
	p.Print("naive: all of it into a Deployment")
	var deployment appsv1.Deployment
	p.Print("  Unmarshal: error %t", yaml.Unmarshal([]byte(manifest), &deployment) != nil)
	p.Print("  a Deployment? kind %s, name %s, replicas set: %t", deployment.Kind, deployment.Name, deployment.Spec.Replicas != nil)
	p.Print("  UnmarshalStrict: error %t", yaml.UnmarshalStrict([]byte(manifest), &deployment) != nil)

	p.Print("split at ---: %d parts, of 3 documents", len(strings.Split(manifest, "---")))

	p.Print("the kind first, then the type: a stream decoder, each document twice")
	documents := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	var objects []runtime.Object
	for {
		var raw runtime.RawExtension
		err := documents.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		play.Check(err)
		if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
			p.Print("  an empty document: skipped")
			continue
		}
		var meta metav1.TypeMeta
		play.Check(yaml.Unmarshal(raw.Raw, &meta))
		object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(raw.Raw, nil, nil)
		play.Check(err)
		p.Print("  kind %-9s → %T, the deserializer says %s", meta.Kind, object, kind.Kind)
		objects = append(objects, object)
	}

	p.Print("create: the text names no namespace, so the program chooses one")
	for _, object := range objects {
		switch object := object.(type) {
		case *corev1.ConfigMap:
			created := play.Must(p.Client().CoreV1().ConfigMaps("default").Create(p.Context(), object, metav1.CreateOptions{}))
			p.Print("  %s/%s; sent kind %q, got kind %q: a typed client knows the kind, and leaves it out",
				created.Namespace, created.Name, object.Kind, created.Kind)
		case *corev1.Service:
			created := play.Must(p.Client().CoreV1().Services("default").Create(p.Context(), object, metav1.CreateOptions{}))
			p.Print("  %s/%s, type %s: filled in by the server", created.Namespace, created.Name, created.Spec.Type)
		}
	}

	p.Print("apply: create or change, in one request")
	service := corev1ac.ServiceApplyConfiguration{}
	play.Check(yaml.Unmarshal([]byte(manifest[strings.LastIndex(manifest, "apiVersion"):]), &service))
	applied := play.Must(p.Client().CoreV1().Services("default").Apply(p.Context(), &service, metav1.ApplyOptions{FieldManager: "tutorial", Force: true}))
	for _, entry := range applied.ManagedFields {
		if entry.Manager == "tutorial" {
			p.Print("  owned by the applier: %s", entry.FieldsV1)
		}
	}
}
