package lens

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"glasswatch/internal/lens/look"
	"glasswatch/listwatch"
)

// fieldManager owns what is applied.
const fieldManager = "lens"

// actor changes objects on the server, as kubectl would. No fault of the pipeline's requests is for it.
type actor struct {
	objects dynamic.Interface
	mapper  meta.RESTMapper
	seed    int64
	force   bool // take fields over that other managers own

	storming sync.WaitGroup
	mu       sync.Mutex // protects what follows
	endStorm func()
}

func newActor(cfg *rest.Config, seed int64) (*actor, error) {
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	discover, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discover))
	return &actor{objects: objects, mapper: mapper, seed: seed, endStorm: func() {}}, nil
}

// documents is the body of an apply.
type documents struct {
	YAML string `json:"yaml"`
}

// objects reads all documents. A Secret is refused, for what is applied stands in the session.
func (d documents) objects() (all []*unstructured.Unstructured, err error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(d.YAML), 4096)
	for {
		obj := &unstructured.Unstructured{}
		switch err := decoder.Decode(obj); {
		case errors.Is(err, io.EOF) && len(all) == 0:
			return nil, fmt.Errorf("%w: there is no object in the YAML", look.ErrBadBody)
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", look.ErrBadBody, err)
		case obj.GetKind() == "Secret":
			return nil, fmt.Errorf("%w: Secrets are not applied here, for sessions are saved and shown", look.ErrBadBody)
		case len(obj.Object) > 0:
			all = append(all, obj)
		}
	}
}

// apply does what kubectl apply --server-side does with some documents. It stops at the first error.
func (a *actor) apply(ctx context.Context, body documents) (any, error) {
	objects, err := body.objects()
	if err != nil {
		return nil, err
	}
	var applied []look.Ref
	for _, obj := range objects {
		kind := obj.GroupVersionKind()
		mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, err
		}
		got, err := a.client(mapping, obj.GetNamespace()).Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: fieldManager, Force: a.force})
		if err != nil {
			return nil, err
		}
		key := look.NameOf(listwatch.KeyOf(got))
		applied = append(applied, look.Ref{Kind: got.GetKind(), Key: key, RV: got.GetResourceVersion()})
	}
	return map[string][]look.Ref{"applied": applied}, nil
}

// client returns that of a kind. If a namespaced object names no namespace, that is "default".
func (a *actor) client(mapping *meta.RESTMapping, namespace string) dynamic.ResourceInterface {
	all := a.objects.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return all
	}
	return all.Namespace(cmp.Or(namespace, metav1.NamespaceDefault))
}

// find returns the resource that is named as Service, services or ingresses.networking.k8s.io.
func (a *actor) find(name string) (*meta.RESTMapping, error) {
	kind, err := a.mapper.KindFor(schema.ParseGroupResource(strings.ToLower(name)).WithVersion(""))
	if err != nil {
		return nil, err
	}
	return a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// remove deletes an object.
func (a *actor) remove(ctx context.Context, ref look.Ref) (any, error) {
	mapping, err := a.find(ref.Kind)
	if err != nil {
		return nil, err
	}
	namespace, name, isNamespaced := strings.Cut(ref.Key, "/")
	if !isNamespaced {
		namespace, name = "", ref.Key
	}
	return nil, a.client(mapping, namespace).Delete(ctx, name, metav1.DeleteOptions{})
}

// Storm is many changes of Services storm/s-0, s-1 …
type Storm struct {
	Objects   int `json:"objects"`
	Changes   int `json:"changes"`
	PerSecond int `json:"per_second"` // 0 is as fast as can be
}

const (
	stormNamespace = "storm"
	stormMost      = 100_000
)

// storm replaces the storm that there is. The zero Storm only ends it.
func (a *actor) storm(_ context.Context, s Storm) (any, error) {
	if s.Objects < 0 || s.Objects > stormMost || s.Changes < 0 || s.PerSecond < 0 || s.PerSecond > stormMost {
		const want = "%w: want objects and per_second in 0 … %d, and changes of 0 or more"
		return nil, fmt.Errorf(want, look.ErrBadBody, stormMost)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endStorm()
	a.storming.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	a.endStorm = cancel
	if s.Objects > 0 {
		a.storming.Go(func() { a.rage(ctx, s) })
	}
	return nil, nil
}

// rage creates the objects, then changes some at random. What fails is left. What comes late is made up for: asleep, a
// goroutine may wake a millisecond late.
func (a *actor) rage(ctx context.Context, s Storm) {
	services := a.objects.Resource(corev1.SchemeGroupVersion.WithResource("services")).Namespace(stormNamespace)
	random := rand.New(rand.NewPCG(uint64(a.seed), 1))
	began := time.Now()
	for i := range s.Objects + s.Changes {
		due := began
		if s.PerSecond > 0 {
			due = began.Add(time.Duration(float64(i) / float64(s.PerSecond) * float64(time.Second)))
		}
		if wait := time.Until(due); wait > 0 && !look.Pause(ctx, wait, nil) || ctx.Err() != nil {
			return
		}
		if i < s.Objects {
			svc := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": fmt.Sprintf("s-%d", i)},
				"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}},
			}}
			_, _ = services.Create(ctx, svc, metav1.CreateOptions{})
			continue
		}
		name := fmt.Sprintf("s-%d", random.IntN(s.Objects))
		patch := fmt.Sprintf(`{"metadata":{"labels":{"change":"%d"}}}`, i)
		_, _ = services.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	}
}
