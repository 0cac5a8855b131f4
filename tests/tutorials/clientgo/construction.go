package clientgo

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/tests/tutorials/play"
)

// Construction makes four clients and counts requests: there are none. A wrong address or an expired token shows with the first
// request, not here. All four wrap the REST client, so the same list is the same GET. A REST client alone must be told what it speaks.
//
// Often said: "NewForConfig connects to the cluster". It checks the configuration, and connects to nothing.
//
// Ways: a client has nothing of cache or workqueue to swap.
//
// Differs: natively there is one client for lists and watches of all kinds.
func Construction(p *play.Play) {
	config, requests := rest.CopyConfig(p.Config()), 0
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return apiservertest.RoundTripper(func(req *http.Request) (*http.Response, error) {
			requests++
			p.Print("  %s %s", req.Method, req.URL.Path)
			return next.RoundTrip(req)
		})
	})
	clientset := kubernetes.NewForConfigOrDie(config)
	anyKind := dynamic.NewForConfigOrDie(config)
	discoverer := discovery.NewDiscoveryClientForConfigOrDie(config)
	ofGroup := rest.CopyConfig(config)
	ofGroup.APIPath, ofGroup.GroupVersion, ofGroup.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion, scheme.Codecs
	restClient := play.Must(rest.RESTClientFor(ofGroup))
	p.Print("four clients, %d requests", requests)

	p.Print("the same list by each:")
	play.Must(clientset.CoreV1().ConfigMaps("default").List(p.Context(), metav1.ListOptions{}))
	play.Must(anyKind.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default").List(p.Context(), metav1.ListOptions{}))
	play.Must(discoverer.RESTClient().Get().AbsPath("/api/v1/namespaces/default/configmaps").DoRaw(p.Context()))
	play.Check(restClient.Get().Namespace("default").Resource("configmaps").Do(p.Context()).Into(&corev1.ConfigMapList{}))

	_, err := rest.RESTClientFor(config)
	p.Print("a REST client that is told nothing: %v", err)
	ofGroup.NegotiatedSerializer = nil
	_, err = rest.RESTClientFor(ofGroup)
	p.Print("without a serializer: %v", err)
}
