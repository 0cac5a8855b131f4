package lens

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/lens/look"
)

// realCluster is an API server of which the lens knows nothing else.
func realCluster(t *testing.T) *rest.Config {
	t.Helper()
	return apiservertest.Start(t, apiserver.Options{}).Config
}

func lookAt(t *testing.T, resource string, mayWrite bool) *Cluster {
	t.Helper()
	c, err := NewCluster(realCluster(t), resource, "", mayWrite)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestCluster_OneResourceIsLookedAtAndOnlyRead(t *testing.T) {
	c := lookAt(t, "services", false)
	v := visitHandler(t, c.Handler())
	f := v.follow("")
	assert.Equal(t, look.GateActs, f.now.Can)
	f.synced()
	assert.Nil(t, f.now.State.Server, "nothing is known of it")
	assert.Equal(t, 1, f.now.State.Informers["services"].Objects)
	f.sees(look.Request, "WATCH", "")
	f.sees(look.Reconciled, "ok", "default/kubernetes")
	assert.Equal(t, "default/kubernetes", v.journey("default/kubernetes")[0].Key)
	for _, act := range []string{"apply", "delete", "storm", "fault", "reset", "replay", "beside"} {
		assert.Equal(t, 404, v.ask("POST", "/act/"+act, `{}`, nil), act)
	}
	v.act("pause", `{}`)
	f.until(func() bool { return f.now.Gate.Mode == "step" })
}

func TestCluster_WritesIfItMay(t *testing.T) {
	v := visitHandler(t, lookAt(t, "ingresses.networking.k8s.io", true).Handler())
	f := v.follow("")
	f.until(func() bool { return f.now.State.Informers["ingresses"].Synced })
	v.act("apply", `{"yaml": "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}, `+
		`spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}"}`)
	f.sees(look.Reconciled, "ok", "default/web")
	v.act("delete", `{"kind": "Ingress", "key": "default/web"}`)
	f.sees(look.Stored, "removed", "default/web")
}

func TestCluster_TakesNothingFromOtherManagers(t *testing.T) {
	cfg := realCluster(t)
	other, err := newActor(cfg, 0)
	require.NoError(t, err)
	const service = `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: %d}], type: %s}}`
	client := other.objects.Resource(corev1.SchemeGroupVersion.WithResource("services")).Namespace("default")
	_, err = client.Patch(t.Context(), "web", types.ApplyYAMLPatchType, fmt.Appendf(nil, service, 80, "ClusterIP"),
		metav1.PatchOptions{FieldManager: "another"})
	require.NoError(t, err)
	c, err := NewCluster(cfg, "services", "", true)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	v := visitHandler(t, c.Handler())
	for text, code := range map[string]int{
		fmt.Sprintf(service, 80, "NodePort"):                                                   409,
		"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {password: hunter2}}": 400,
	} {
		body, err := json.Marshal(documents{text})
		require.NoError(t, err)
		assert.Equal(t, code, v.ask("POST", "/act/apply", string(body), nil), text)
	}
}

func TestCluster_NamesWhatItCannotLookAt(t *testing.T) {
	cfg := realCluster(t)
	_, err := NewCluster(cfg, "unicorns", "", false)
	assert.ErrorContains(t, err, `resource "unicorns"`)
	_, err = NewCluster(cfg, "namespaces", "default", false)
	assert.ErrorContains(t, err, "has no namespaces")
}

func TestAttach_ShowsAnotherProgram(t *testing.T) {
	other := httptest.NewServer(look.ForPrograms(testToken, lookAt(t, "services", false).Handler()))
	defer other.Close()
	defer other.CloseClientConnections()
	target, err := url.Parse(other.URL)
	require.NoError(t, err)
	v := visitHandler(t, Attach(target, testToken))
	f := v.follow("")
	f.synced()
	assert.NotEmpty(t, v.journey("default/kubernetes"))
	v.act("pause", `{}`)
	page := v.request("GET", "/", "")
	assert.Equal(t, 200, page.StatusCode)
	require.NoError(t, page.Body.Close())

	stranger := visitHandler(t, Attach(target, "another-token-for-tests"))
	answer := stranger.request("GET", "/api/snapshot", "")
	assert.Equal(t, http.StatusBadGateway, answer.StatusCode)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	assert.Contains(t, string(text), "got 401 Unauthorized")
	require.NoError(t, answer.Body.Close())
}
