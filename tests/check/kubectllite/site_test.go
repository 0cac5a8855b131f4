package kubectllite

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

// site is a server, seen by its admin.
type site struct {
	kubeconfig string
	client     kubernetes.Interface
	dynamic    dynamic.Interface
}

func newSite(t *testing.T, kubeconfig string) *site {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	cfg.QPS = -1
	s := &site{kubeconfig: kubeconfig}
	s.client, err = kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	s.dynamic, err = dynamic.NewForConfig(cfg)
	require.NoError(t, err)
	return s
}

// place makes a namespace, and a folder with a kubeconfig.
func (s *site) place(t *testing.T, p program, number int) *place {
	t.Helper()
	at := &place{site: s, t: t, program: p, namespace: fmt.Sprintf("%s-%02d", p.name, number), dir: t.TempDir()}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: at.namespace}}
	_, err := s.client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	require.NoError(t, err)
	cfg, err := clientcmd.LoadFromFile(s.kubeconfig)
	require.NoError(t, err)
	for _, context := range cfg.Contexts {
		context.Namespace = at.namespace
	}
	require.NoError(t, clientcmd.WriteToFile(*cfg, filepath.Join(at.dir, "kubeconfig")))
	return at
}

// masks are for what differs between two runs of one program, too.
var masks = []struct {
	what *regexp.Regexp
	mask string
}{
	{regexp.MustCompile(`(?m)^[IWE]\d{4} [\d:.]+ .*\n`), ""}, // the log of client-go, not the program's words
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "SERVER"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "TIME"},
}

// plain leaves out what belongs to the place.
func (p *place) plain(text string) string {
	text = strings.ReplaceAll(text, p.dir+"/", "")
	text = strings.ReplaceAll(text, p.namespace, "NAMESPACE")
	for _, m := range masks {
		text = m.what.ReplaceAllString(text, m.mask)
	}
	return text
}

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// kinds are those of the inputs.
func (p *place) kinds() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{
		configMaps, namespaces, definitions,
		{Version: "v1", Resource: "secrets"},
		{Version: "v1", Resource: "services"},
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: p.namespace + ".example.com", Version: "v1", Resource: "shops"},
	}
}

// objects are what the input has left, as YAML.
func (p *place) objects() string {
	p.t.Helper()
	var all strings.Builder
	p.each(func(object *unstructured.Unstructured) {
		text, err := yaml.Marshal(essence(object).Object)
		require.NoError(p.t, err)
		all.WriteString("---\n" + p.plain(string(text)))
	})
	return all.String()
}

// essences are the same, by the names that lines of output begin with.
func (p *place) essences() map[string]*unstructured.Unstructured {
	p.t.Helper()
	all := map[string]*unstructured.Unstructured{}
	p.each(func(object *unstructured.Unstructured) {
		kind := strings.ToLower(object.GroupVersionKind().GroupKind().String())
		all[kind+"/"+object.GetName()] = essence(object)
	})
	return all
}

// each visits the objects of this place.
func (p *place) each(visit func(object *unstructured.Unstructured)) {
	p.t.Helper()
	for _, kind := range p.kinds() {
		list, err := p.dynamic.Resource(kind).List(p.t.Context(), metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // the definition was not made
		}
		require.NoError(p.t, err)
		for _, object := range list.Items {
			if p.concerns(&object) {
				visit(&object)
			}
		}
	}
}

func (p *place) concerns(object *unstructured.Unstructured) bool {
	if object.GetName() == p.namespace || object.GetName() == "kube-root-ca.crt" {
		return false
	}
	if object.GetKind() == "Namespace" && object.GetDeletionTimestamp() != nil {
		return false // how long it takes to empty one is the server's affair
	}
	return strings.Contains(object.GetNamespace()+"/"+object.GetName(), p.namespace)
}

// essence leaves out what the server makes up anew for each object.
func essence(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetCreationTimestamp(metav1.Time{})
	if object.GetDeletionTimestamp() != nil {
		object.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(0, 0).UTC()})
	}
	managed := object.GetManagedFields()
	kept := managed[:0]
	for _, entry := range managed {
		entry.Time = nil
		if entry.Operation == metav1.ManagedFieldsOperationApply { // controllers write at their own time
			kept = append(kept, entry)
		}
	}
	object.SetManagedFields(kept)
	for _, field := range []string{"clusterIP", "clusterIPs"} {
		if spec, ok := object.Object["spec"].(map[string]any); ok && spec[field] != nil {
			spec[field] = "IP"
		}
	}
	if object.GetKind() == "Namespace" || object.GetKind() == "CustomResourceDefinition" {
		unstructured.RemoveNestedField(object.Object, "status")
	}
	if len(fmt.Sprint(object.Object)) > 1<<20 {
		object.Object["data"] = "long"
	}
	return object
}

// somebody is another client, with a field manager of its own. Its verbs prepare inputs.

func (p *place) create(kind schema.GroupVersionResource, text string) {
	p.t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(p.t, yaml.Unmarshal([]byte(p.fill(text)), &object.Object))
	client := dynamic.ResourceInterface(p.dynamic.Resource(kind).Namespace(p.namespace))
	if kind == namespaces {
		client = p.dynamic.Resource(kind)
	}
	_, err := client.Create(p.t.Context(), object, metav1.CreateOptions{FieldManager: "somebody"})
	require.NoError(p.t, err)
}

func (p *place) delete(kind schema.GroupVersionResource, name string) {
	p.t.Helper()
	require.NoError(p.t, p.dynamic.Resource(kind).Namespace(p.namespace).Delete(p.t.Context(), name, metav1.DeleteOptions{}))
}

const patience = 5 * time.Minute // kubectl takes a minute and a half for the 500 documents

// until repeats a question that may have no answer yet.
func (p *place) until(isSo func(ctx context.Context) (bool, error)) error {
	return wait.PollUntilContextTimeout(p.t.Context(), 20*time.Millisecond, patience, true, isSo)
}

// release removes the finalizers of a ConfigMap once it is being deleted. It is for a goroutine, and returns its error.
func (p *place) release(name string) error {
	client := p.dynamic.Resource(configMaps).Namespace(p.namespace)
	return p.until(func(ctx context.Context) (bool, error) {
		object, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil || object.GetDeletionTimestamp() == nil {
			return false, err
		}
		_, err = client.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		return err == nil, err
	})
}

// established waits until the server serves the objects of a definition, and its discovery says so.
func (p *place) established() {
	p.t.Helper()
	shops := p.kinds()[len(p.kinds())-1]
	require.NoError(p.t, p.until(func(ctx context.Context) (bool, error) {
		_, lists, err := p.client.Discovery().ServerGroupsAndResources()
		if err != nil {
			return false, nil // a group that is on its way
		}
		known := slices.ContainsFunc(lists, func(l *metav1.APIResourceList) bool { return l.GroupVersion == shops.GroupVersion().String() })
		_, err = p.dynamic.Resource(shops).List(ctx, metav1.ListOptions{})
		return known && err == nil, nil
	}))
}
