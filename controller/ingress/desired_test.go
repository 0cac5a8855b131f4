package ingress

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var testConfig = Config{AnnotationPrefix: DefaultAnnotationPrefix, Class: DefaultClass, Host: DefaultHost}

func tcp(name string, port int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: port, Protocol: corev1.ProtocolTCP}
}

func udp(name string, port int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Port: port, Protocol: corev1.ProtocolUDP}
}

func TestWants_ParsesTheAnnotationAsABool(t *testing.T) {
	for value, want := range map[string]bool{
		"true": true, "True": true, "1": true, "t": true,
		"false": false, "FALSE": false, "0": false,
	} {
		got, err := testConfig.wants(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"ingress/http": value}}})
		require.NoError(t, err, value)
		require.Equal(t, want, got, value)
	}
	got, err := testConfig.wants(&corev1.Service{})
	require.NoError(t, err)
	require.False(t, got, "no annotation asks for nothing")
	for _, value := range []string{"", "yes", "maybe", " true"} {
		_, err := testConfig.wants(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"ingress/http": value}}})
		var invalid *invalidError
		require.ErrorAs(t, err, &invalid, "%q", value)
		require.Equal(t, ReasonInvalidAnnotation, invalid.reason)
	}
}

func TestDesire_TakesTheTCPPortNamedHTTPElseTheFirst(t *testing.T) {
	for name, c := range map[string]struct {
		ports []corev1.ServicePort
		want  int32 // 0: none
	}{
		"only one":                {[]corev1.ServicePort{tcp("", 80)}, 80},
		"first":                   {[]corev1.ServicePort{tcp("a", 1), tcp("b", 2)}, 1},
		"named http":              {[]corev1.ServicePort{tcp("a", 1), tcp("http", 2)}, 2},
		"UDP named http":          {[]corev1.ServicePort{udp("http", 1), tcp("b", 2)}, 2},
		"no protocol means TCP":   {[]corev1.ServicePort{{Port: 7}}, 7},
		"first TCP after a UDP":   {[]corev1.ServicePort{udp("a", 1), tcp("b", 2), tcp("c", 3)}, 2},
		"UDP only":                {[]corev1.ServicePort{udp("a", 1)}, 0},
		"none":                    {nil, 0},
		"both named http, by TCP": {[]corev1.ServicePort{udp("http", 1), tcp("http", 2)}, 2},
	} {
		d, err := testConfig.desire(&corev1.Service{Spec: corev1.ServiceSpec{Ports: c.ports}})
		if c.want == 0 {
			var invalid *invalidError
			require.ErrorAs(t, err, &invalid, name)
			require.Equal(t, ReasonNoTCPPort, invalid.reason, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, d.port, name)
	}
}

func TestDesire_HostOfTheAnnotationOverridesAndIsChecked(t *testing.T) {
	service := func(host string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"ingress/host": host}},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{tcp("", 80)}},
		}
	}
	for _, host := range []string{"a.example.com", "localhost", "*.example.com"} {
		d, err := testConfig.desire(service(host))
		require.NoError(t, err, host)
		require.Equal(t, host, d.host)
	}
	for _, host := range []string{"", "10.0.0.1", "010.0.0.1", "::1", "a_b", "http://a", "a b", "A.example.com", "*", "a.*.com", strings.Repeat("a", 300)} {
		_, err := testConfig.desire(service(host))
		var invalid *invalidError
		require.ErrorAs(t, err, &invalid, "%q", host)
		require.Equal(t, ReasonInvalidHost, invalid.reason)
		require.LessOrEqual(t, len(invalid.message), maxMessage)
	}
}

func TestConfig_NamesTheFieldThatCannotBeRight(t *testing.T) {
	require.NoError(t, testConfig.Validate())
	require.NoError(t, Config{AnnotationPrefix: "a.example.com", Host: "h"}.Validate(), "no class is a choice")
	require.ErrorContains(t, Config{AnnotationPrefix: "a b", Host: "h"}.Validate(), "annotation-prefix: want")
	require.ErrorContains(t, Config{AnnotationPrefix: "a", Host: "h", Class: "A"}.Validate(), "ingress-class: want")
	require.ErrorContains(t, Config{AnnotationPrefix: "a", Host: "10.0.0.1"}.Validate(), "host")
}
