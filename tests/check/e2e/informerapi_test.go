package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"glasswatch/tests/check/controlplane"
	"glasswatch/tests/check/manifests"
)

// front is a running informer-api, as deploy/informer-api describes it, with a caller.
type front struct {
	*cluster
	t   *testing.T
	ns  string // of the program and of what is read
	p   *process
	url string

	roots   *x509.CertPool
	http    *http.Client
	account kubernetes.Interface // the program's own identity
}

// onInformerAPI installs it in a namespace of its own and runs it with the Deployment's flags and the token of its
// service account.
func onInformerAPI(t *testing.T) *front {
	c := onSharedPlane(t)
	f := &front{cluster: c, t: t, ns: c.namespace(t, "informer-api"), roots: x509.NewCertPool()}
	objects := manifestsOf(t, manifests.InformerAPI, f.ns, nil)
	c.apply(t, objects)
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	require.NoError(t, err)
	require.True(t, f.roots.AppendCertsFromPEM(certificate))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600))
	var args []string
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
			require.NoError(t, err)
			args, _, err = unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
			require.NoError(t, err)
		}
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "/tls/", dir+"/")
	}
	kubeconfig := f.kubeconfigWith(f.token("informer-api"))
	f.account = clientOf(t, kubeconfig)
	eventually(t, func() error {
		_, err := f.account.CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
		return err
	})
	f.p = startProgram(t, informerAPI(t), kubeconfig, append(args, "--listen=127.0.0.1:0", "--idle=2s")...)
	eventually(t, func() error {
		address, err := f.p.address("api")
		f.url = "https://" + address
		return err
	})
	f.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: f.roots}}}
	t.Cleanup(f.http.CloseIdleConnections)
	return f
}

// token is one of a service account in f's namespace, which is made if it is not there.
func (f *front) token(account string) string {
	f.t.Helper()
	accounts := f.client.CoreV1().ServiceAccounts(f.ns)
	if account != "informer-api" {
		made := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}
		_, err := accounts.Create(f.t.Context(), made, metav1.CreateOptions{})
		require.NoError(f.t, err)
	}
	request, err := accounts.CreateToken(f.t.Context(), account,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	return request.Status.Token
}

func (f *front) kubeconfigWith(token string) string {
	f.t.Helper()
	cfg, err := clientcmd.LoadFromFile(f.plane.Kubeconfig(controlplane.Admin))
	require.NoError(f.t, err)
	for _, user := range cfg.AuthInfos {
		*user = *user.DeepCopy()
		user.Token, user.ClientCertificateData, user.ClientKeyData = token, nil, nil
	}
	path := filepath.Join(f.t.TempDir(), "kubeconfig")
	require.NoError(f.t, clientcmd.WriteToFile(*cfg, path))
	return path
}

func (f *front) open(ctx context.Context, path, token string, header ...string) *http.Response {
	f.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+path, nil)
	require.NoError(f.t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := f.http.Do(r)
	require.NoError(f.t, err)
	return answer
}

// get wants a status.
func (f *front) get(want int, path, token string, header ...string) (body string, answer *http.Response) {
	f.t.Helper()
	answer = f.open(f.t.Context(), path, token, header...)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	require.NoError(f.t, err)
	require.Equal(f.t, want, answer.StatusCode, "%s: %s", path, raw)
	return string(raw), answer
}

func (f *front) service(name string) *corev1.Service {
	f.t.Helper()
	made, err := f.client.CoreV1().Services(f.ns).Create(f.t.Context(), newService(name), metav1.CreateOptions{})
	require.NoError(f.t, err)
	return made
}

// reader is the token of an account that may read Services in f's namespace.
func (f *front) reader() string {
	f.t.Helper()
	token := f.token("reader")
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"get", "list", "watch"}}}}
	_, err := f.client.RbacV1().Roles(f.ns).Create(f.t.Context(), role, metav1.CreateOptions{})
	require.NoError(f.t, err)
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "reader", Namespace: f.ns}}}
	_, err = f.client.RbacV1().RoleBindings(f.ns).Create(f.t.Context(), binding, metav1.CreateOptions{})
	require.NoError(f.t, err)
	asked := authorizationv1.ResourceAttributes{Verb: "list", Resource: "services", Namespace: f.ns}
	eventually(f.t, func() error {
		if !can(f.t, clientOf(f.t, f.kubeconfigWith(token)), asked) {
			return fmt.Errorf("the reader may not yet read")
		}
		return nil
	})
	return token
}

func TestInformerAPI_ServesEachCallerWhatTheClusterLetsItRead(t *testing.T) {
	f := onInformerAPI(t)
	reader, stranger, admin := f.reader(), f.token("stranger"), f.plane.Config(controlplane.Admin).BearerToken
	require.NotEmpty(t, admin)
	services := "/services/core/v1?namespace=" + f.ns
	body, _ := f.get(200, "/ping", "")
	require.Contains(t, body, `"message":"pong"`)
	f.get(401, services, "")
	f.get(401, services, "no token of this cluster")
	body, _ = f.get(403, services, stranger)
	require.Contains(t, body, "stranger cannot list it in namespace")
	body, _ = f.get(200, services, reader)
	require.Contains(t, body, `"kind":"ServiceList"`)
	f.get(403, "/services/core/v1", reader)
	f.get(200, "/services/core/v1", admin)
	f.get(200, "/deployments/apps/v1", admin)
	f.get(200, "/pod/list", admin)
	body, _ = f.get(403, "/configmaps/core/v1", admin)
	require.Contains(t, body, "this server itself may not read it", "its ClusterRole has no such right")
	f.get(403, "/secrets/core/v1", admin)
	f.get(404, "/gardens/example.com/v1", admin)

	made := f.service("web")
	one := services + "&name=web"
	_, answer := f.get(200, one+"&minResourceVersion="+made.ResourceVersion, reader)
	f.get(304, one, reader, "If-None-Match", answer.Header.Get("ETag"))
	f.get(404, services+"&name=none", reader)

	direct, lent := "/api/v1/namespaces/"+f.ns+"/services", "/api/v1/namespaces"
	f.get(200, direct, reader)
	f.get(401, direct, "")
	f.get(200, lent, admin)
	body, _ = f.get(403, lent, reader)
	require.Contains(t, body, `"kind":"Status"`)
	require.Contains(t, body, ":reader", "the API server refuses the caller, though informer-api itself may")
	f.get(403, direct, stranger)
	f.get(403, "/api/v1/secrets", admin)
	f.get(403, "/api/v1/namespaces/"+f.ns+"/pods/a/exec?command=sh", admin)
}

func TestInformerAPI_SendsASnapshotThenChangesAndReadsCostLessThanRequests(t *testing.T) {
	f := onInformerAPI(t)
	f.service("first")
	reader := f.reader()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answer := f.open(ctx, "/services/core/v1?watch=1&namespace="+f.ns, reader)
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	next := func() (kind, name string) {
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				kind = text
			}
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var object struct{ Metadata metav1.ObjectMeta }
				require.NoError(t, json.Unmarshal([]byte(text), &object))
				return kind, object.Metadata.Name
			}
		}
		return "", ""
	}
	expect := func(kind, name string) {
		t.Helper()
		gotKind, gotName := next()
		require.Equal(t, kind+" "+name, gotKind+" "+gotName)
	}
	expect("ADDED", "first")
	expect("ADDED", "informer-api")
	expect("SYNCED", "")
	f.service("second")
	expect("ADDED", "second")
	require.NoError(t, f.client.CoreV1().Services(f.ns).Delete(t.Context(), "first", metav1.DeleteOptions{}))
	expect("DELETED", "first")

	defer func() { // with the watch open
		f.p.terminate()
		expect("", "")
	}()

	const times = 300
	spend := func(path string) time.Duration {
		began := time.Now()
		for range times {
			f.get(200, path, reader)
		}
		return time.Since(began) / times
	}
	cached := spend("/services/core/v1?name=second&namespace=" + f.ns)
	passed := spend("/api/v1/namespaces/" + f.ns + "/services/second")
	cfg := rest.CopyConfig(f.plane.Config(controlplane.Admin))
	transport, err := rest.TransportFor(cfg)
	require.NoError(t, err)
	f.http, f.url = &http.Client{Transport: transport}, cfg.Host
	direct := spend("/api/v1/namespaces/" + f.ns + "/services/second")
	f.http.CloseIdleConnections()
	t.Logf("one Service: %s from the cache, %s from the API server, %s passed on", cached, direct, passed)
}

func TestInformerAPI_MayDoNothingElse(t *testing.T) {
	f := onInformerAPI(t)
	for _, may := range []struct {
		want bool
		authorizationv1.ResourceAttributes
	}{
		{true, authorizationv1.ResourceAttributes{Verb: "watch", Resource: "pods"}},
		{true, authorizationv1.ResourceAttributes{Verb: "list", Group: "apps", Resource: "deployments"}},
		{true, authorizationv1.ResourceAttributes{Verb: "create", Group: authenticationv1.GroupName,
			Resource: "tokenreviews"}},
		{true, authorizationv1.ResourceAttributes{Verb: "create", Group: authorizationv1.GroupName,
			Resource: "subjectaccessreviews"}},
		{false, authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods"}},
		{false, authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods"}},
		{false, authorizationv1.ResourceAttributes{Verb: "create", Resource: "pods", Subresource: "exec"}},
		{false, authorizationv1.ResourceAttributes{Verb: "list", Resource: "secrets"}},
		{false, authorizationv1.ResourceAttributes{Verb: "list", Resource: "configmaps"}},
		{false, authorizationv1.ResourceAttributes{Verb: "get", Resource: "nodes", Subresource: "proxy"}},
		{false, authorizationv1.ResourceAttributes{Verb: "create", Resource: "serviceaccounts", Subresource: "token"}},
		{false, authorizationv1.ResourceAttributes{Verb: "impersonate", Resource: "users"}},
		{false, authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}},
	} {
		require.Equal(t, may.want, can(t, f.account, may.ResourceAttributes), "%+v", may.ResourceAttributes)
	}
}
