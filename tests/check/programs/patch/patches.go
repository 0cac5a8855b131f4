package main

import (
	"fmt"
	"path"
	"strings"
)

// replacement is text that must stand in a file exactly once.
type replacement struct{ old, by string }

// added are files that client-go does not have.
var added = map[string]string{
	"tools/cache/informer_hook.go": hookFile,
	"rest/transport_hook.go":       transportFile,
}

// patched are the files in which something is replaced, the informers of informers/ apart.
var patched = map[string][]replacement{
	"tools/cache/shared_informer.go": {{
		"options SharedIndexInformerOptions) SharedIndexInformer {\n",
		"options SharedIndexInformerOptions) SharedIndexInformer {\n" +
			"\tlw, hooked := askHook(lw, exampleObject, options)\n\tif hooked != nil {\n\t\treturn hooked\n\t}\n",
	}},
	"tools/cache/reflector.go": {{
		"store ReflectorStore, options ReflectorOptions) *Reflector {\n",
		"store ReflectorStore, options ReflectorOptions) *Reflector {\n\tReflectorsMade.Add(1)\n",
	}},
	"metadata/metadatainformer/informer.go": described("client, gvr, namespace, tweakListOptions"),
	"dynamic/dynamicinformer/informer.go":   described("client, gvr, namespace, tweakListOptions"),
	"rest/transport.go": {{"\treturn transport.New(cfg)\n",
		"\treturn hookTransport(transport.New(cfg))\n"}},
}

// described wraps the one ListWatch of a file, so that the hook knows what it lists.
func described(origin string) []replacement {
	return []replacement{
		{"cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{",
			"cache.Described(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{"},
		{"\t}, client),\n", "\t}, client), " + origin + "),\n"},
	}
}

// generatedInformers is how many files of informers/ construct an informer, in client-go v0.37.2. Another number means
// that the patches must be looked at again.
const generatedInformers = 147

// constructor is in each generated informer.
const constructor = "cache.NewSharedIndexInformerWithOptions("

// patchesOf returns what is to be replaced in a file.
func patchesOf(file, text string) []replacement {
	if !strings.HasPrefix(file, "informers/") {
		return patched[file]
	}
	if !strings.Contains(text, constructor) {
		return nil
	}
	namespace := `""`
	if strings.Contains(text, "WithOptions(client kubernetes.Interface, namespace string,") {
		namespace = "namespace"
	}
	return described("client, gvr, " + namespace + ", tweakListOptions")
}

// apply replaces all, or says what is not there exactly once.
func apply(file, text string, replacements []replacement) (string, error) {
	for _, r := range replacements {
		if n := strings.Count(text, r.old); n != 1 {
			return "", fmt.Errorf("%s: %q is there %d times, not once: look at the patches again", file, r.old, n)
		}
		text = strings.Replace(text, r.old, r.by, 1)
	}
	return text, nil
}

// skipped says which files of the module are not copied: what no program imports.
func skipped(file string) bool {
	top, _, _ := strings.Cut(file, "/")
	return top == "examples" || strings.HasSuffix(file, "_test.go") || path.Base(file) == "OWNERS"
}

const hookFile = `package cache

import (
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Origin is what the maker of an informer knows about its ListerWatcher.
type Origin struct {
	Client    any // a clientset, or a dynamic or metadata client
	Resource  schema.GroupVersionResource
	Namespace string
	Tweak     func(*metav1.ListOptions)
}

// InformerHook is asked for each shared informer, if it is set. The origin is nil where the maker did not describe its
// ListerWatcher. If the hook returns nil, the informer is client-go's.
var InformerHook func(lw ListerWatcher, origin *Origin, obj runtime.Object, options SharedIndexInformerOptions) SharedIndexInformer

// ReflectorsMade counts client-go's reflectors: one for each informer of client-go that runs.
var ReflectorsMade atomic.Int64

// GlobalMetricsProvider is what SetInformerMetricsProvider has set. Without this copy no other package can read it.
func GlobalMetricsProvider() InformerMetricsProvider { return globalInformerMetricsProvider }

type describedListerWatcher struct {
	ListerWatcher
	origin Origin
}

// Described adds an origin that NewSharedIndexInformerWithOptions takes off again.
func Described[Tweak ~func(*metav1.ListOptions)](lw ListerWatcher, client any, gvr schema.GroupVersionResource, namespace string, tweak Tweak) ListerWatcher {
	return &describedListerWatcher{lw, Origin{client, gvr, namespace, tweak}}
}

func askHook(lw ListerWatcher, obj runtime.Object, options SharedIndexInformerOptions) (ListerWatcher, SharedIndexInformer) {
	var origin *Origin
	if d, ok := lw.(*describedListerWatcher); ok {
		lw, origin = d.ListerWatcher, &d.origin
	}
	if InformerHook == nil {
		return lw, nil
	}
	return lw, InformerHook(lw, origin, obj, options)
}
`

const transportFile = `package rest

import "net/http"

// TransportHook is given each transport that TransportFor makes, if it is set.
var TransportHook func(http.RoundTripper) http.RoundTripper

func hookTransport(transport http.RoundTripper, err error) (http.RoundTripper, error) {
	if err != nil || TransportHook == nil {
		return transport, err
	}
	return TransportHook(transport), nil
}
`
