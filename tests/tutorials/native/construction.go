package native

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
	"glasswatch/tests/tutorials/play"
)

// Construction does what its namesake does with the one client that the layers have.
func Construction(p *play.Play) {
	config, requests := rest.CopyConfig(p.Config()), 0
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return apiservertest.RoundTripper(func(req *http.Request) (*http.Response, error) {
			requests++
			p.Print("  %s %s", req.Method, req.URL.Path)
			return next.RoundTrip(req)
		})
	})
	client := play.Must(listwatch.NewForConfig[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		listwatch.Options{Namespace: "default"}))
	p.Print("one client, %d requests", requests)
	play.Must(client.List(p.Context(), metav1.ListOptions{}))
}
