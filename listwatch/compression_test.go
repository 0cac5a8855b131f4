package listwatch

import (
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"glasswatch/listwatch/memo/memotest"
)

// compressing answers as the API server does: a long list is compressed, fast, for who takes that.
func compressing(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", protoType)
		if r.Header.Get("Accept-Encoding") != "gzip" {
			_, _ = w.Write(body)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		zip, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		_, _ = zip.Write(body)
		_ = zip.Close()
	}
}

// serveCompressing starts a server with TLS, as client-go does not look at DisableCompression without.
func serveCompressing(t testing.TB, handler http.Handler, disabled bool) *rest.Config {
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &rest.Config{Host: server.URL, QPS: -1, DisableCompression: disabled, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
}

func TestClient_AsksForCompressionUnlessTheConfigSaysNo(t *testing.T) {
	body := encode(t, protoType, serviceList("7", serviceV1("a", "1"), serviceV1("b", "2")))
	for _, disabled := range []bool{false, true} {
		t.Run(fmt.Sprintf("disabled=%v", disabled), func(t *testing.T) {
			asked := &requests{}
			cfg := serveCompressing(t, asked.wrap(compressing(body)), disabled)
			list, err := servicesOf(t, cfg, Options{}).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			require.Len(t, list.Items, 2)
			if disabled {
				require.Empty(t, asked.last().Header.Get("Accept-Encoding"))
			} else {
				require.Equal(t, "gzip", asked.last().Header.Get("Accept-Encoding"))
			}
		})
	}
}

// BenchmarkListOverLoopback is a list of 500 pods, compressed as the API server does it or not at all, with what compressing and
// decompressing cost.
func BenchmarkListOverLoopback(b *testing.B) {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
	for n := range 500 {
		list.Items = append(list.Items, *memotest.Pod(n))
	}
	body := encode(b, protoType, list)
	for _, disabled := range []bool{false, true} {
		b.Run(fmt.Sprintf("compressed=%v", !disabled), func(b *testing.B) {
			cfg := serveCompressing(b, compressing(body), disabled)
			client, err := NewForConfig[*corev1.Pod](cfg, corev1.SchemeGroupVersion.WithResource("pods"), Options{})
			require.NoError(b, err)
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if got, err := client.List(b.Context(), metav1.ListOptions{}); err != nil || len(got.Items) != 500 {
					b.Fatal(err)
				}
			}
		})
	}
}
