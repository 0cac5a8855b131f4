package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgo "k8s.io/client-go/tools/cache"

	"glasswatch/compat/cache"
	"glasswatch/compat/cache/install"
)

// The ways in which an informer is made.
const (
	byClientGo = "client-go"
	onClosures = "closures" // ours, on the caller's ListerWatcher
	installed  = "install"  // ours, by install.NewInformer; it shares equal parts if that is switched on
)

// start is when the process began, near enough.
var start = time.Now()

// informers are those that the hook made.
type informers struct {
	mu       sync.Mutex // protects what follows
	ways     map[string]int
	synced   int
	lastSync time.Duration // from the start until the last informer so far has synced
}

// hookInformers must be called before the program makes an informer.
func hookInformers(choice string) (*informers, error) {
	made := &informers{ways: map[string]int{}}
	switch choice {
	case "client-go":
		clientgo.InformerHook = made.clientGo(&sync.Map{})
	case "", "unshared":
		clientgo.InformerHook = made.ours
	default:
		return nil, fmt.Errorf(`GLASSWATCH_INFORMERS: want "client-go", "unshared" or nothing, got %q`, choice)
	}
	return made, nil
}

// Short names for the hook's types.
type (
	listerWatcher = clientgo.ListerWatcher
	origin        = clientgo.Origin
	options       = clientgo.SharedIndexInformerOptions
	informer      = clientgo.SharedIndexInformer
	hook          = func(listerWatcher, *origin, runtime.Object, options) informer
)

// clientGo makes client-go's informers: its constructor asks the hook once more, which then says no.
func (i *informers) clientGo(asked *sync.Map) hook {
	return func(lw listerWatcher, _ *origin, obj runtime.Object, o options) informer {
		if _, again := asked.LoadAndDelete(lw); again {
			return nil
		}
		asked.Store(lw, true)
		return i.add(byClientGo, clientgo.NewSharedIndexInformerWithOptions(lw, obj, o))
	}
}

// ours makes glasswatch's informers. Those on a clientset come from install, which reads GLASSWATCH_INFORMERS as well.
func (i *informers) ours(lw listerWatcher, from *origin, obj runtime.Object, o options) informer {
	if o.InformerMetricsProvider == nil { // component-base gives its provider to client-go alone
		o.InformerMetricsProvider = clientgo.GlobalMetricsProvider()
	}
	if from != nil {
		if client, ok := from.Client.(kubernetes.Interface); ok {
			of := install.Options{Namespace: from.Namespace, TweakListOptions: from.Tweak}
			informer, err := install.NewInformer(client, obj, of, o)
			if err == nil {
				return i.add(installed, informer)
			}
			fmt.Fprintf(os.Stderr, "programs: %T is on its maker's closures: %v\n", obj, err)
		}
	}
	return i.add(onClosures, cache.NewSharedIndexInformerWithOptions(lw, obj, o))
}

// add counts an informer, now and when it has synced.
func (i *informers) add(way string, informer informer) informer {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ways[way]++
	go func() {
		<-informer.HasSyncedChecker().Done()
		i.mu.Lock()
		defer i.mu.Unlock()
		i.synced++
		i.lastSync = time.Since(start)
	}()
	return informer
}
