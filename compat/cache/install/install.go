package install

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	clientgo "k8s.io/client-go/tools/cache"

	"glasswatch/compat/cache"
)

// Options repeat the options of the factory. The zero value is for a factory made with neither.
type Options struct {
	// Namespace is that of WithNamespace. Empty: all.
	Namespace string
	// TweakListOptions is that of WithTweakListOptions. nil: none.
	TweakListOptions func(*metav1.ListOptions)
	// DisableSharing leaves the decoding to client-go. By default equal parts of an informer's objects are in memory
	// once.
	DisableSharing bool
}

// Into has factory use glasswatch's informers for the types of objs, pointers to objects of built-in kinds. Call it
// before the factory is asked for one of them. It fails if the factory has such an informer, or if a type is unknown;
// the types before it in objs are installed then. Resync period, transform and informer name are the factory's.
func Into(factory internalinterfaces.SharedInformerFactory, options Options, objs ...runtime.Object) error {
	m, err := currentMode()
	if err != nil {
		return err
	}
	for _, obj := range objs {
		r, err := resourceOf(obj)
		if err != nil {
			return err
		}
		if m == modeClientGo {
			continue
		}
		installed := false
		factory.InformerFor(obj, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			installed = true
			return r.informer(client, obj, options, m, cache.SharedIndexInformerOptions{
				ResyncPeriod: resync,
				Indexers:     cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
				Identifier:   factory.InformerName().WithResource(r.gvr),
			})
		})
		if !installed {
			return fmt.Errorf("the factory has an informer of %T already", obj)
		}
	}
	return nil
}

// NewInformer returns an informer of obj's type, a pointer to an object of a built-in kind, on client. informer has the
// rest of what an informer of client-go is made with.
func NewInformer(client kubernetes.Interface, obj runtime.Object, options Options, informer cache.SharedIndexInformerOptions) (cache.SharedIndexInformer, error) {
	m, err := currentMode()
	if err != nil {
		return nil, err
	}
	r, err := resourceOf(obj)
	if err != nil {
		return nil, err
	}
	return r.informer(client, obj, options, m, informer), nil
}

func (r resource) informer(client kubernetes.Interface, obj runtime.Object, options Options, m mode, informer cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	if m == modeClientGo {
		return clientgo.NewSharedIndexInformerWithOptions(r.listWatch(client, options), obj, informer)
	}
	if m == modeShared && !options.DisableSharing {
		if tapped := r.tapped(client); tapped != nil {
			return cache.NewSharedIndexInformerWithOptions(sharing(r.listWatch(tapped, options), obj), obj, informer)
		}
	}
	return cache.NewSharedIndexInformerWithOptions(r.listWatch(client, options), obj, informer)
}

// resource says where a clientset has the objects of one type: client.CoreV1().Services(namespace).
type resource struct {
	gvr        schema.GroupVersionResource
	group, get string // the names of the two methods
	namespaced bool
}

// resourceOf searches the clientset's methods for those whose Get returns obj's type.
func resourceOf(obj runtime.Object) (r resource, err error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return r, err
	}
	want := reflect.TypeOf(obj)
	client := reflect.TypeFor[kubernetes.Interface]()
	for group := range client.Methods() {
		if group.Type.NumIn() != 0 || group.Type.NumOut() != 1 || group.Type.Out(0).Kind() != reflect.Interface {
			continue
		}
		for m := range group.Type.Out(0).Methods() {
			if m.Type.NumOut() != 1 || m.Type.Out(0).Kind() != reflect.Interface || m.Type.NumIn() > 1 {
				continue
			}
			get, ok := m.Type.Out(0).MethodByName("Get")
			if ok && get.Type.NumOut() == 2 && get.Type.Out(0) == want {
				gvr := kinds[0].GroupVersion().WithResource(strings.ToLower(m.Name))
				return resource{gvr: gvr, group: group.Name, get: m.Name, namespaced: m.Type.NumIn() == 1}, nil
			}
		}
	}
	return r, fmt.Errorf("the clientset has no %T", obj)
}

// of returns the client of the resource, such as a ServiceInterface.
func (r resource) of(client kubernetes.Interface, namespace string) reflect.Value {
	var args []reflect.Value
	if r.namespaced {
		args = []reflect.Value{reflect.ValueOf(namespace)}
	}
	return reflect.ValueOf(client).MethodByName(r.group).Call(nil)[0].MethodByName(r.get).Call(args)[0]
}

func (r resource) listWatch(client kubernetes.Interface, options Options) cache.ListerWatcher {
	list := r.of(client, options.Namespace).MethodByName("List")
	watcher := r.of(client, options.Namespace).Interface().(interface {
		Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	})
	return listWatchOf(client, options.TweakListOptions,
		func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			out := list.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(opts)})
			if err, _ := out[1].Interface().(error); err != nil {
				return nil, err
			}
			return out[0].Interface().(runtime.Object), nil
		}, watcher.Watch)
}

// listWatchOf fills in the functions of a ListWatch. client says whether it can stream lists.
func listWatchOf(client any, tweak func(*metav1.ListOptions), list cache.ListWithContextFunc, watchIt cache.WatchFuncWithContext) cache.ListerWatcher {
	if tweak == nil {
		tweak = func(*metav1.ListOptions) {}
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			tweak(&opts)
			return list(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			tweak(&opts)
			return watchIt(ctx, opts)
		},
	}, client)
}
