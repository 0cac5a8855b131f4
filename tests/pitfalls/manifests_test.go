package pitfalls

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// A program splits a file at "---", or decodes only its first document.
//
// Why: three dashes separate documents only where they begin a line. In a value, such as a certificate, they are text.
// The parts are then no YAML, or YAML that says something else.
//
// You see: error converting YAML to JSON: yaml: line 2: found unexpected end of stream
//
// Instead: decode with apimachinery's NewYAMLOrJSONDecoder until io.EOF, and skip what is empty. It takes JSON as well.
func TestPitfall_SplittingAManifestAtThreeDashes(t *testing.T) {
	naive := func(file string) (all []corev1.ConfigMap, err error) {
		for _, document := range strings.Split(file, "---") {
			var cm corev1.ConfigMap
			if err := yaml.Unmarshal([]byte(document), &cm); err != nil {
				return nil, err
			}
			all = append(all, cm)
		}
		return all, nil
	}
	right := func(file string) (all []corev1.ConfigMap, err error) {
		decoder := yamlutil.NewYAMLOrJSONDecoder(strings.NewReader(file), 4096)
		for {
			var cm corev1.ConfigMap
			switch err := decoder.Decode(&cm); {
			case errors.Is(err, io.EOF):
				return all, nil
			case err != nil:
				return nil, err
			case cm.Name != "":
				all = append(all, cm)
			}
		}
	}
	property := func(t *testing.T, read func(file string) ([]corev1.ConfigMap, error)) error {
		all, err := read("metadata: {name: a}\ndata: {key: \"---BEGIN---\"}\n---\n---\nmetadata: {name: b}\n")
		if err != nil {
			return err
		}
		var names []string
		for _, cm := range all {
			names = append(names, cm.Name)
		}
		return unlike("documents", []string{"a", "b"}, names)
	}
	contrast(t, property, naive, right)
}

// A program makes the resource of a kind by adding an "s".
//
// Why: the URL has the resource, not the kind, and only the server knows which belongs to which: Ingress is ingresses,
// NetworkPolicy is networkpolicies, Endpoints is endpoints, and a custom kind is what its definition says. Nor does a
// manifest say whether its kind has a namespace.
//
// You see: Ingress: the server could not find the requested resource
//
// Instead: ask a RESTMapper that is made from discovery. Its mapping also has the scope.
func TestPitfall_GuessingTheResourceOfAKind(t *testing.T) {
	naive := func(_ discovery.DiscoveryInterface, kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
		return kind.GroupVersion().WithResource(strings.ToLower(kind.Kind) + "s"), nil
	}
	right := func(client discovery.DiscoveryInterface, kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
		groups, err := restmapper.GetAPIGroupResources(client)
		if err != nil {
			return schema.GroupVersionResource{}, err
		}
		mapping, err := restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return schema.GroupVersionResource{}, err
		}
		return mapping.Resource, nil
	}
	property := func(t *testing.T, resourceOf func(discovery.DiscoveryInterface, schema.GroupVersionKind) (schema.GroupVersionResource, error)) error {
		c := startCluster(t)
		client, err := dynamic.NewForConfig(c.Config)
		require.NoError(t, err)
		for _, kind := range []schema.GroupVersionKind{
			{Version: "v1", Kind: "ConfigMap"}, {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
		} {
			resource, err := resourceOf(c.Client.Discovery(), kind)
			require.NoError(t, err)
			if _, err := client.Resource(resource).Namespace("default").List(t.Context(), metav1.ListOptions{}); err != nil {
				return fmt.Errorf("%s: %w", kind.Kind, err)
			}
		}
		return nil
	}
	contrast(t, property, naive, right)
}

// An object from a file is applied by getting the one on the server and, if there is one, putting the file's in its place.
//
// Why: an update replaces the whole object. What is not in the file is lost: fields that other managers have set, such
// as the replicas of an autoscaler, labels and finalizers. And between the get and the update others may write, too.
//
// You see: after apply: want [v=2, w=theirs], got [v=2]
//
// Instead: apply on the server (types.ApplyPatchType). It merges, remembers whose each field is, answers a conflict
// where two managers disagree, and creates the object if there is none: one request.
func TestPitfall_ApplyingByUpdate(t *testing.T) {
	naive := func(ctx context.Context, client typedcorev1.ConfigMapInterface, cm *corev1.ConfigMap) error {
		live, err := client.Get(ctx, cm.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = client.Create(ctx, cm, metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		cm.ResourceVersion = live.ResourceVersion
		_, err = client.Update(ctx, cm, metav1.UpdateOptions{})
		return err
	}
	right := func(ctx context.Context, client typedcorev1.ConfigMapInterface, cm *corev1.ConfigMap) error {
		cm.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
		data, err := yaml.Marshal(cm)
		if err != nil {
			return err
		}
		_, err = client.Patch(ctx, cm.Name, types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: "me"})
		return err
	}
	property := func(t *testing.T, apply func(context.Context, typedcorev1.ConfigMapInterface, *corev1.ConfigMap) error) error {
		maps := startCluster(t).Client.CoreV1().ConfigMaps("default")
		file := func(v string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Data: map[string]string{"v": v}}
		}
		require.NoError(t, apply(t.Context(), maps, file("1")))
		_, err := maps.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"data":{"w":"theirs"}}`), metav1.PatchOptions{FieldManager: "they"})
		require.NoError(t, err)
		require.NoError(t, apply(t.Context(), maps, file("2")))
		stored, err := maps.Get(t.Context(), "web", metav1.GetOptions{})
		require.NoError(t, err)
		var got []string
		for key, value := range stored.Data {
			got = append(got, key+"="+value)
		}
		slices.Sort(got)
		return unlike("after apply", []string{"v=2", "w=theirs"}, got)
	}
	contrast(t, property, naive, right)
}

// A program that works on many objects returns at the first error.
//
// Why: the objects behind the bad one are left as they were, and nothing says which those are. After each repair the
// next error shows up.
//
// You see: objects after one bad document: want [a, c], got [a]
//
// Instead: go on, collect the errors, and return them together at the end.
func TestPitfall_StoppingAtTheFirstBadDocument(t *testing.T) {
	naive := func(names []string, create func(name string) error) error {
		for _, name := range names {
			if err := create(name); err != nil {
				return err
			}
		}
		return nil
	}
	right := func(names []string, create func(name string) error) error {
		var errs []error
		for _, name := range names {
			if err := create(name); err != nil {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}
	property := func(t *testing.T, each func(names []string, create func(name string) error) error) error {
		c := startCluster(t)
		err := each([]string{"a", "Bad_Name", "c"}, func(name string) error {
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
			_, err := c.Client.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{})
			return err
		})
		require.ErrorContains(t, err, "Bad_Name")
		return unlike("objects after one bad document", []string{"a", "c"}, c.Names())
	}
	contrast(t, property, naive, right)
}

// A program deletes an object and takes it for gone when the request has succeeded.
//
// Why: an object with finalizers only gets a deletionTimestamp, and is there until the last of them is removed. So is a
// Pod during its grace period. What takes the name next is refused.
//
// You see: object is being deleted: configmaps "web" already exists
//
// Instead: wait until the object is not found, or another UID has its name. An informer does that without polling
// (cmd/kubectl-lite/wait.go).
func TestPitfall_TakingADeletedObjectForGone(t *testing.T) {
	naive := func(ctx context.Context, client typedcorev1.ConfigMapInterface, name string) error {
		return client.Delete(ctx, name, metav1.DeleteOptions{})
	}
	right := func(ctx context.Context, client typedcorev1.ConfigMapInterface, name string) error {
		if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		return wait.PollUntilContextTimeout(ctx, time.Second, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := client.Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			return false, err
		})
	}
	property := func(t *testing.T, remove func(context.Context, typedcorev1.ConfigMapInterface, string) error) error {
		maps := startCluster(t).Client.CoreV1().ConfigMaps("default")
		web := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		held := web.DeepCopy()
		held.Finalizers = []string{"example.com/held"}
		_, err := maps.Create(t.Context(), held, metav1.CreateOptions{})
		require.NoError(t, err)
		start(t, func(ctx context.Context) { // a controller that takes its time
			<-time.After(5 * time.Second)
			_, _ = maps.Patch(ctx, "web", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		})
		require.NoError(t, remove(t.Context(), maps, "web"))
		_, err = maps.Create(t.Context(), web, metav1.CreateOptions{})
		return err
	}
	contrast(t, property, naive, right)
}

// A program that sends many requests leaves QPS and Burst of its rest.Config at zero.
//
// Why: zero is not "no limit" but five requests a second after the first ten. Each client made from the configuration
// waits in silence; the log says so at -v=3.
//
// You see: 500 objects: want less than 10s, took 1m38s
//
// Instead: set QPS and Burst, or QPS to -1: the API server has priorities and fair queues of its own.
func TestPitfall_TheDefaultOfFiveRequestsASecond(t *testing.T) {
	naive := func(config *rest.Config) {
		config.QPS, config.Burst = 0, 0
	}
	right := func(config *rest.Config) {
		config.QPS = -1
	}
	property := func(t *testing.T, limit func(config *rest.Config)) error {
		cfg := rest.CopyConfig(startCluster(t).Config)
		limit(cfg)
		client, err := dynamic.NewForConfig(cfg)
		require.NoError(t, err)
		maps := client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
		start := time.Now()
		for i := range 500 {
			object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"name": fmt.Sprintf("c-%d", i)}}}
			_, err := maps.Create(t.Context(), object, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		if took := time.Since(start).Round(time.Second); took > 10*time.Second {
			return fmt.Errorf("500 objects: want less than 10s, took %s", took)
		}
		return nil
	}
	contrast(t, property, naive, right)
}
