package pitfalls

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// A reconciler ignores the error of Delete.
//
// Why: the queue takes that for a success and forgets the item. No event brings the item back, for nothing has changed.
// The object stays until the next resync or restart.
//
// You see: after one failed request: want [], got [web]
//
// Instead: return every error but NotFound, for then the object is gone.
func TestPitfall_ThrowingAwayTheErrorOfDelete(t *testing.T) {
	naive := func(ctx context.Context, client typedcorev1.ConfigMapInterface, name string) error {
		_ = client.Delete(ctx, name, metav1.DeleteOptions{})
		return nil
	}
	right := func(ctx context.Context, client typedcorev1.ConfigMapInterface, name string) error {
		err := client.Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	property := func(t *testing.T, reconcile func(context.Context, typedcorev1.ConfigMapInterface, string) error) error {
		c := startCluster(t)
		c.Put("web", "1")
		c.Faults().FailNext(1, unavailable("delete"))
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
		defer q.ShutDown()
		go func() {
			for item, shutdown := q.Get(); !shutdown; item, shutdown = q.Get() {
				if err := reconcile(t.Context(), c.Client.CoreV1().ConfigMaps("default"), item); err != nil {
					q.AddRateLimited(item)
				} else {
					q.Forget(item)
				}
				q.Done(item)
			}
		}()
		q.Add("web")
		apiservertest.Pass(time.Minute)
		return unlike("after one failed request", []string{}, c.Names())
	}
	contrast(t, property, naive, right)
}

// After a conflict the same object is sent again.
//
// Why: a conflict says that the object that was sent is outdated: its resourceVersion is not the server's. Sending it
// again causes the same conflict, however often.
//
// You see: after a change by somebody else: the object has been modified
//
// Instead: within RetryOnConflict, get the object anew and change that one. Or return the error: the queue hands out
// the key again, and by then the cache has the newest version.
func TestPitfall_RetryingAConflictWithTheSameObject(t *testing.T) {
	naive := func(ctx context.Context, client typedcorev1.ConfigMapInterface, web *corev1.ConfigMap) error {
		web.Data["v"] = "2"
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			_, err := client.Update(ctx, web, metav1.UpdateOptions{})
			return err
		})
	}
	right := func(ctx context.Context, client typedcorev1.ConfigMapInterface, web *corev1.ConfigMap) error {
		return retry.RetryOnConflict(retry.DefaultRetry, func() error {
			newest, err := client.Get(ctx, web.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			newest.Data["v"] = "2"
			_, err = client.Update(ctx, newest, metav1.UpdateOptions{})
			return err
		})
	}
	property := func(t *testing.T, setV func(context.Context, typedcorev1.ConfigMapInterface, *corev1.ConfigMap) error) error {
		c := startCluster(t)
		web := c.Put("web", "1")
		c.Put("web", "by somebody else")
		err := setV(t.Context(), c.Client.CoreV1().ConfigMaps("default"), web)
		if apierrors.IsConflict(err) {
			return errors.New("after a change by somebody else: the object has been modified")
		}
		require.NoError(t, err)
		return nil
	}
	contrast(t, property, naive, right)
}

// TLS verification is switched off, because the server's certificate is signed by an unknown authority.
//
// Why: then the client talks to any server that answers, and sends its token first. With the token an impostor can act
// as the client.
//
// You see: an impostor was sent: Bearer secret
//
// Instead: trust the cluster's own authority by CAFile or CAData, which every kubeconfig and every Pod has.
func TestPitfall_TLSVerificationOff(t *testing.T) {
	naive := func(config *rest.Config, _ []byte) {
		config.TLSClientConfig.Insecure = true
	}
	right := func(config *rest.Config, authority []byte) {
		config.TLSClientConfig.CAData = authority
	}
	property := func(t *testing.T, trust func(config *rest.Config, authority []byte)) error {
		var genuine, impostor notes
		dial, authority := serveTLS(t, &genuine)
		dialImpostor, _ := serveTLS(t, &impostor)
		ask := func(dial dialer) error {
			config := &rest.Config{Host: "https://10.0.0.1", BearerToken: "secret", Dial: dial}
			trust(config, authority)
			client, err := kubernetes.NewForConfig(config)
			require.NoError(t, err)
			_, err = client.Discovery().ServerVersion()
			return err
		}
		require.NoError(t, ask(dial))
		require.Equal(t, []string{"Bearer secret"}, genuine.all())
		err := ask(dialImpostor)
		if stolen := impostor.all(); len(stolen) > 0 {
			return fmt.Errorf("an impostor was sent: %s", stolen[0])
		}
		require.Error(t, err) // over a net.Pipe, which has no buffer, it is not the reason but the handshake's timeout
		return nil
	}
	contrast(t, property, naive, right)
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// serveTLS serves /version with a certificate that it signs itself, and notes the credentials it is sent.
func serveTLS(t *testing.T, credentials *notes) (dialer, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)},
		NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	listener := apiserver.NewPipeListener()
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			credentials.add("%s", req.Header.Get("Authorization"))
			_, _ = w.Write([]byte(`{"gitVersion":"v1.37.0"}`))
		}),
		ErrorLog:  log.New(io.Discard, "", 0), // of handshakes that clients break off
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
	}
	start(t, func(ctx context.Context) {
		context.AfterFunc(ctx, func() { _ = server.Close() })
		_ = server.ServeTLS(listener, "", "")
	})
	return listener.DialContext, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
