package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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
	Layer: "cmd/kubectl-lite/apply.go", Next: "docs/learn/kubectl-lite.md", Tell: tell}

// manifests are the files that the demo applies.
//
//go:embed demo
var manifests embed.FS

// shell is where the demo types its commands.
type shell struct {
	*demo.Demo
	dir string
}

func tell(ctx context.Context, d *demo.Demo) error {
	s := shell{d, d.TempDir()}
	return demo.Steps(s.applies, s.goesOn, s.conflicts, s.learnsKinds, s.waits, s.deletes)(ctx, d)
}

// write puts a manifest into the folder, with these texts replaced.
func (s shell) write(name string, oldnew ...string) {
	text := string(demo.Must(manifests.ReadFile("demo/" + name)))
	text = strings.NewReplacer(append(oldnew, "shops.example.com", "shops."+s.group(), "example.com/v1", s.group()+"/v1",
		"group: example.com", "group: "+s.group())...).Replace(text)
	demo.Check(os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}

// group contains the namespace, so that the definition, which is of cluster scope, meets no other.
func (s shell) group() string { return s.Namespace + ".example.com" }

// types runs one command line and prints what it says.
func (s shell) types(ctx context.Context, line string) {
	s.Did("kubectl %s", line)
	code, said := s.run(ctx, line)
	demo.Check(ctx.Err())
	s.Saw("%s(exit status %d)", said, code)
}

// run returns stdout and then stderr.
func (s shell) run(ctx context.Context, line string) (code int, said string) {
	args := strings.Fields(line)
	if n := len(args) - 1; n > 0 { // the last of several words is the file
		args[n] = filepath.Join(s.dir, args[n])
	}
	var stdout, stderr bytes.Buffer
	code = execute(ctx, args, &stdout, &stderr, func() (*rest.Config, string, bool, error) {
		return s.Config, s.Namespace, false, nil
	})
	return code, strings.ReplaceAll(stdout.String()+stderr.String(), s.dir+string(filepath.Separator), "")
}

func (s shell) applies(ctx context.Context, d *demo.Demo) {
	d.Step("Three documents in one file: created, unchanged, configured")
	s.write("shop.yaml")
	s.types(ctx, "apply --dry-run=server -f shop.yaml")
	s.types(ctx, "apply -f shop.yaml")
	s.types(ctx, "apply -f shop.yaml")
	s.write("shop.yaml", "colour: blue", "colour: red")
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
	s.write("bad.yaml")
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
	s.write("kind.yaml")
	resource := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	definitions := demo.Must(dynamic.NewForConfig(d.Config)).Resource(resource)
	d.Cleanup(func(ctx context.Context) error {
		return demo.Gone(definitions.Delete(ctx, "shops."+s.group(), metav1.DeleteOptions{}))
	})
	s.types(ctx, "apply -f kind.yaml")
	demo.Until(ctx, "the kind is served", func() bool {
		code, _ := s.run(ctx, "apply --dry-run=server -f kind.yaml")
		return code == 0
	})
	s.types(ctx, "apply -f kind.yaml")
	d.Why("all documents are mapped before the first is sent, as kubectl does it; the second run knows the kind")
}

func (s shell) waits(ctx context.Context, d *demo.Demo) {
	d.Step("Delete returns when the object is gone")
	s.write("held.yaml")
	s.types(ctx, "apply -f held.yaml")
	s.types(ctx, "delete --timeout=100ms -f held.yaml")
	configMaps := d.Client.CoreV1().ConfigMaps(d.Namespace)
	d.Tape.Rewind()
	stop := d.Go(ctx, func(ctx context.Context) {
		_ = demo.Eventually(ctx, func() error { // where this fails, the delete below does not end
			if !slices.ContainsFunc(d.Tape.Requests(), isWatch) {
				return errors.New("no watch yet")
			}
			_, err := configMaps.Patch(ctx, "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			return err
		})
	})
	s.types(ctx, "delete -f held.yaml")
	stop()
	_, err := configMaps.Get(ctx, "held", metav1.GetOptions{})
	d.Saw("somebody has removed the finalizer; is it gone? %t", apierrors.IsNotFound(err))
}

// isWatch tells whether the informer's watch is there, so that the deletion comes as an event.
func isWatch(r demo.Request) bool {
	return r.Code == http.StatusOK && strings.Contains(r.Path, "watch=")
}

func (s shell) deletes(ctx context.Context, d *demo.Demo) {
	d.Step("Delete, and what is not there")
	s.types(ctx, "delete -f shop.yaml")
	s.types(ctx, "delete -f shop.yaml")
	s.types(ctx, "delete --ignore-not-found -f shop.yaml")
	s.types(ctx, "apply")
	s.types(ctx, "abc")
}
