package docs

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/tests/check/controlplane"
	"glasswatch/tests/check/pages"
)

var namesPages = []string{"names.md", "names.zh.md"}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestResources_AreThoseOfAPIResources(t *testing.T) {
	inMemory, err := Resources(apiservertest.Start(t, apiserver.Options{}).Client.Discovery())
	require.NoError(t, err)
	cfg := controlplane.Start(t).Config(controlplane.Admin)
	httpClient, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	t.Cleanup(httpClient.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(cfg, httpClient)
	require.NoError(t, err)
	upstream, err := Resources(client.Discovery())
	require.NoError(t, err)
	table := "| resource, short names | kind | apiVersion | Go package | client call | URL | ✓ |\n|---|---|---|---|---|---|---|\n"
	for _, r := range upstream {
		table += r.row(slices.ContainsFunc(inMemory, func(m Resource) bool { return m.URL == r.URL }))
	}
	for _, page := range namesPages {
		require.NoError(t, pages.Fill(pathOf(page), map[string]string{"table resources": table}, *update))
	}
}

// All paths are asked for at once.
func TestNames_ImportPathsAreThere(t *testing.T) {
	paths := quoted(t, regexp.MustCompile("`((?:k8s\\.io|sigs\\.k8s\\.io|glasswatch|github\\.com)/[\\w./-]+)`"))
	require.Greater(t, len(paths), 50)
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-f", "{{if .Error}}{{.ImportPath}}: {{.Error}}{{end}}"}, paths...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, strings.TrimSpace(string(out)))
}

// The URLs of the table are discovery's.
func TestNames_URLsOfTheTextAnswer(t *testing.T) {
	client := apiservertest.Start(t, apiserver.Options{}).Client
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cart"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	_, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	urls := quoted(t, regexp.MustCompile("[`\\s](/(?:apis?|version|openapi|readyz)[^`\\s…]*)[`\\s]"))
	require.GreaterOrEqual(t, len(urls), 8)
	for _, url := range urls {
		_, err := client.Discovery().RESTClient().Get().RequestURI(url).Param("timeoutSeconds", "1").DoRaw(t.Context())
		require.NoError(t, err, url)
	}
}

// quoted are the matches in the text of both pages, which must have the same.
func quoted(t *testing.T, pattern *regexp.Regexp) []string {
	t.Helper()
	var found [2][]string
	for i, page := range namesPages {
		for _, match := range pattern.FindAllStringSubmatch(pages.Without(read(t, page)), -1) {
			found[i] = append(found[i], match[1])
		}
		slices.Sort(found[i])
		found[i] = slices.Compact(found[i])
	}
	require.Equal(t, found[0], found[1], "the pages name different ones")
	return found[0]
}
