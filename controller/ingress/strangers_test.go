package ingress

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/controller/ingress/ingresstest"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// Two controllers whose prefixes differ, and an Ingress that another program lets a Service control. What is of one is a
// stranger's to the others, although a Service controls them all.
func TestController_LeavesAloneWhatOthersMadeForTheSameServices(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) {
		services, ingresses := server.Client.CoreV1().Services("default"), server.Client.NetworkingV1().Ingresses("default")
		made := map[string]*corev1.Service{}
		for name, annotation := range map[string]string{"first": "ingress/http", "second": "other/http", "third": "unknown/http"} {
			svc, err := services.Create(t.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotation: "true"}},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{tcp("http", 80)}},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
			made[name] = svc
		}
		_, err := ingresses.Create(t.Context(), &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Name: "third", OwnerReferences: ingresstest.OwnedBy("third", made["third"].UID)},
			Spec:       networkingv1.IngressSpec{Rules: ingresstest.Rules("theirs", "theirs", 1)},
		}, metav1.CreateOptions{})
		require.NoError(t, err)

		for range 2 { // the second time, each finds all Ingresses when it starts
			var stops []func()
			for _, prefix := range []string{"ingress", "other"} {
				config := testConfig
				config.AnnotationPrefix = prefix
				c, err := New(server.Config, Options{Config: config})
				require.NoError(t, err)
				stops = append(stops, apiservertest.Go(server, c.Run))
			}
			<-time.After(time.Hour)
			for name, maker := range map[string]string{"first": FieldManager, "second": FieldManager + "-other", "third": ""} {
				ing, err := ingresses.Get(t.Context(), name, metav1.GetOptions{})
				require.NoError(t, err, name)
				require.EqualValues(t, 1, ing.Generation, "%s was corrected", name)
				require.Equal(t, maker, makerOf(ing))
			}
			for _, stop := range stops {
				stop()
			}
		}
	})
}
