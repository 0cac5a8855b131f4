package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/demo"
)

var story = demo.Story{Name: "kubectl-lite", Title: "Apply and delete what stands in files",
	Layer: "cmd/kubectl-lite/apply.go", Next: "cmd/ingress-controller/main.go", Tell: tell}

const (
	demoShop = `apiVersion: v1
kind: Service
metadata: {name: demo, labels: {app: demo}}
spec:
  selector: {app: demo}
  ports: [{port: 80}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: demo}
spec:
  replicas: 0
  selector: {matchLabels: {app: demo}}
  template:
    metadata: {labels: {app: demo}}
    spec: {containers: [{name: web, image: nginx}]}
`
	demoBad = `apiVersion: v1
kind: Service
metadata: {name: bad}
spec: {type: ClusterIP1, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: good}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: typo}
dada: {a: b}
`
	demoKind = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.$GROUP}
spec:
  group: $GROUP
  scope: Namespaced
  names: {kind: Shop, plural: shops, singular: shop, listKind: ShopList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: $GROUP/v1
kind: Shop
metadata: {name: corner}
`
	demoHeld = `apiVersion: v1
kind: ConfigMap
metadata: {name: held, finalizers: [example.com/held]}
`
)

// shell is where the demo types its commands.
type shell struct {
	*demo.Demo
	dir string
}

func tell(ctx context.Context, d *demo.Demo) error {
	s := shell{d, d.TempDir()}
	return demo.Steps(s.applies, s.goesOn, s.conflicts, s.learnsKinds, s.waits, s.deletes)(ctx, d)
}

func (s shell) write(name, text string) {
	text = strings.ReplaceAll(text, "$GROUP", s.group())
	demo.Check(os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}

// group contains the namespace, so that the definition, which is of cluster scope, meets no other.
func (s shell) group() string { return s.Namespace + ".example.com" }

// types runs one command line and prints what it says, stderr last.
func (s shell) types(ctx context.Context, line string) {
	s.Did("kubectl %s", line)
	args := strings.Fields(line)
	for i := range args {
		if i > 0 && args[i-1] == "-f" {
			args[i] = filepath.Join(s.dir, args[i])
		}
	}
	var stdout, stderr bytes.Buffer
	code := execute(ctx, args, &stdout, &stderr, func() (*rest.Config, string, bool, error) {
		return s.Config, s.Namespace, false, nil
	})
	demo.Check(ctx.Err())
	said := strings.ReplaceAll(stdout.String()+stderr.String(), s.dir+string(filepath.Separator), "")
	if code != 0 {
		said += fmt.Sprintf("(exit status %d)\n", code)
	}
	if said != "" {
		s.Saw("%s", strings.TrimSuffix(said, "\n"))
	}
}

func (s shell) applies(ctx context.Context, d *demo.Demo) {
	d.Step("Three documents in one file: created, unchanged, configured")
	s.write("shop.yaml", demoShop)
	s.types(ctx, "apply --dry-run=server -f shop.yaml")
	s.types(ctx, "apply -f shop.yaml")
	s.types(ctx, "apply -f shop.yaml")
	s.write("shop.yaml", strings.Replace(demoShop, "colour: blue", "colour: red", 1))
	s.types(ctx, "apply -f shop.yaml")
	for _, r := range d.Tape.Requests() {
		if strings.Contains(r.Path, "settings") {
			d.Sent("%s %s", r.Method, strings.Replace(r.Path, d.Namespace, "NAMESPACE", 1))
		}
	}
	d.Why("the answer to a PATCH does not tell configured from unchanged, so the object is read before it. Kinds become URLs by what the " +
		"server says of itself (discovery), not by adding an s")
}

func (s shell) goesOn(ctx context.Context, d *demo.Demo) {
	d.Step("One bad document does not stop the others; errors come last")
	s.write("bad.yaml", demoBad)
	s.types(ctx, "apply -f bad.yaml")
	s.types(ctx, "apply -f nosuch.yaml")
	s.types(ctx, "apply -l app=demo -o name -f shop.yaml")
}

func (s shell) conflicts(ctx context.Context, d *demo.Demo) {
	d.Step("A field that somebody else owns")
	_, err := d.Client.CoreV1().ConfigMaps(d.Namespace).Patch(ctx, "settings", types.MergePatchType,
		[]byte(`{"data":{"colour":"green"}}`), metav1.PatchOptions{FieldManager: "somebody"})
	demo.Check(err)
	d.Did("somebody else paints the settings green")
	s.types(ctx, "apply -f shop.yaml")
	s.types(ctx, "apply --force-conflicts -f shop.yaml")
	d.Why("a PUT of the file would have painted them red without a word")
}

func (s shell) learnsKinds(ctx context.Context, d *demo.Demo) {
	d.Step("A kind and its first object in one file")
	s.write("kind.yaml", demoKind)
	client := demo.Must(dynamic.NewForConfig(d.Config))
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	d.Cleanup(func(ctx context.Context) error {
		return demo.Gone(definitions.Delete(ctx, "shops."+s.group(), metav1.DeleteOptions{}))
	})
	s.types(ctx, "apply -f kind.yaml")
	shops := client.Resource(schema.GroupVersionResource{Group: s.group(), Version: "v1", Resource: "shops"}).Namespace(d.Namespace)
	demo.Check(demo.Eventually(ctx, func() error { _, err := shops.List(ctx, metav1.ListOptions{}); return err }))
	s.types(ctx, "apply -f kind.yaml")
	d.Why("all documents are mapped before the first is sent, as kubectl does it; the second run knows the kind")
}

func (s shell) waits(ctx context.Context, d *demo.Demo) {
	d.Step("Delete returns when the object is gone")
	s.write("held.yaml", demoHeld)
	s.types(ctx, "apply -f held.yaml")
	s.types(ctx, "delete --timeout=100ms -f held.yaml")
	configMaps := d.Client.CoreV1().ConfigMaps(d.Namespace)
	d.Tape.Rewind()
	stop := d.Go(ctx, func(ctx context.Context) {
		// The informer's watch is there, so the deletion comes as an event.
		_ = demo.Eventually(ctx, func() error {
			for _, r := range d.Tape.Requests() {
				if strings.Contains(r.Path, "watch=") && strings.Contains(r.Path, "metadata.name") && r.Code == 200 {
					_, err := configMaps.Patch(ctx, "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
					return err
				}
			}
			return context.DeadlineExceeded
		})
	})
	s.types(ctx, "delete -f held.yaml")
	stop()
	_, err := configMaps.Get(ctx, "held", metav1.GetOptions{})
	d.Saw("somebody has removed the finalizer; is it gone? %t", apierrors.IsNotFound(err))
}

func (s shell) deletes(ctx context.Context, d *demo.Demo) {
	d.Step("Delete, and what is not there")
	s.types(ctx, "delete -f shop.yaml")
	s.types(ctx, "delete -f shop.yaml")
	s.types(ctx, "delete --ignore-not-found -f shop.yaml")
	s.types(ctx, "apply")
	s.types(ctx, "abc")
}
