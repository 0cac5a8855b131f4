package install

import (
	"net/http"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"glasswatch/compat/cache"
	"glasswatch/compat/internal/undecoded"
)

// Transport lets informers of [NewSharedIndexInformer] have the answers of the server before client-go decodes them.
// Wrap the config that the program's clients are made from:
//
//	config.Wrap(install.Transport)
//
// Other requests pass it unchanged.
func Transport(base http.RoundTripper) http.RoundTripper { return undecoded.Transport(base) }

// NewSharedIndexInformer is cache.NewSharedIndexInformer for an informer whose objects share equal parts. It has the
// type of controller-runtime's cache.Options.NewInformer. Requests that go through no [Transport], and objects of types
// that are not client-go's own, stay as they are with cache.NewSharedIndexInformer.
//
// lw must send one request for each call and return its answer as it is, as that of controller-runtime does. What it
// does after the request has no effect: a second request, a filter, a fallback. Its own call of List returns an error
// after each list that the informer decodes, because client-go sees an empty answer; it must not log or count that.
func NewSharedIndexInformer(lw cache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	switch mustMode() {
	case modeClientGo:
		return clientgo.NewSharedIndexInformer(lw, obj, resync, indexers)
	case modeShared:
		lw = sharing(lw, obj)
	}
	return cache.NewSharedIndexInformer(lw, obj, resync, indexers)
}

// sharing returns what lists and watches as lw does, for an informer whose objects share equal parts.
func sharing(lw cache.ListerWatcher, obj runtime.Object) cache.ListerWatcher {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	_, hasProtobuf := obj.(interface{ Unmarshal([]byte) error })
	if err != nil || len(kinds) != 1 || !hasProtobuf || !strings.HasPrefix(reflect.TypeOf(obj).Elem().PkgPath(), "k8s.io/api/") {
		return lw
	}
	gvr, _ := meta.UnsafeGuessKindToResource(kinds[0]) // for people
	return &undecoded.ListerWatcher{ListerWatcher: lw, Resource: gvr, Sharing: undecoded.NewSharing()}
}

// tapped returns a client that lists and watches as client does, the objects of r only, with a [Transport]. It returns
// nil if client is not a clientset of client-go's on a real server.
func (r resource) tapped(client kubernetes.Interface) kubernetes.Interface {
	real, ok := client.(*kubernetes.Clientset)
	if !ok || real == nil {
		return nil
	}
	group := reflect.ValueOf(client).MethodByName(r.group).Call(nil)[0].Interface()
	from, ok := group.(interface{ RESTClient() rest.Interface }).RESTClient().(*rest.RESTClient)
	if !ok || from == nil {
		return nil
	}
	// A copy, because the client's own transport must stay. It is made by reflection, because the struct has an
	// atomic.Bool, a flag about CBOR, and vet forbids plain copies of it. Nothing else in the struct is written to.
	var tapped rest.RESTClient
	reflect.ValueOf(&tapped).Elem().Set(reflect.ValueOf(from).Elem())
	httpClient := http.DefaultClient
	if from.Client != nil {
		httpClient = from.Client
	}
	withTransport := *httpClient
	withTransport.Transport = undecoded.Transport(httpClient.Transport)
	tapped.Client = &withTransport
	return kubernetes.New(&tapped)
}
