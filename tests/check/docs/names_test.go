package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
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

// startServer runs the API server in memory until the test ends.
func startServer(t *testing.T) (*rest.Config, kubernetes.Interface) {
	s := apiservertest.Start(t, apiserver.Options{})
	return s.Config, s.Client
}

func newClient(t *testing.T, cfg *rest.Config) kubernetes.Interface {
	httpClient, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	t.Cleanup(httpClient.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(cfg, httpClient)
	require.NoError(t, err)
	return client
}

// requireTable compares the table of that name in both pages with what it should be, or writes it.
func requireTable(t *testing.T, name, want string) {
	t.Helper()
	for _, page := range namesPages {
		require.NoError(t, pages.Fill(pathOf(page), map[string]string{"table " + name: want}, *update))
	}
}

func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |" }

// resourceRows are the rows of the page, by resource and group.
func resourceRows(resources, inMemory []Resource) (lines []string) {
	for _, r := range resources {
		here := slices.ContainsFunc(inMemory, func(m Resource) bool { return m.URL == r.URL })
		lines = append(lines, resourceRow(r, here))
	}
	return lines
}

func resourceRow(r Resource, here bool) string {
	names := "`" + strings.Join(append([]string{r.Name}, r.ShortNames...), "`, `") + "`"
	goType, call := "none in these modules", "dynamic client"
	if r.Package != "" {
		goType = fmt.Sprintf("`%s`", r.Package)
	}
	if r.Call != "" {
		call = "`" + r.Call + "`"
	}
	mark := ""
	if here {
		mark = "✓"
	}
	return row(names, r.Kind, "`"+r.GV.String()+"`", goType, call, "`"+r.URL+"`", mark)
}

func TestResources_AreThoseOfAPIResources(t *testing.T) {
	plane := controlplane.Start(t)
	_, memory := startServer(t)
	inMemory, err := Resources(memory.Discovery())
	require.NoError(t, err)
	upstream, err := Resources(newClient(t, plane.Config(controlplane.Admin)).Discovery())
	require.NoError(t, err)
	table := "| resource, short names | kind | apiVersion | Go package | client call | URL | ✓ |\n|---|---|---|---|---|---|---|\n"
	requireTable(t, "resources", table+strings.Join(resourceRows(upstream, inMemory), "\n")+"\n")
}

func TestResources_URLsAnswer(t *testing.T) {
	cfg, memory := startServer(t)
	inMemory, err := Resources(memory.Discovery())
	require.NoError(t, err)
	client := httpClientFor(t, cfg)
	for _, r := range inMemory {
		if slices.Contains(r.Verbs, "list") {
			require.Equal(t, http.StatusOK, answer(t, client, http.MethodGet, cfg.Host+r.URL, nil), r.URL)
			continue
		}
		body, err := json.Marshal(metav1.TypeMeta{APIVersion: r.GV.String(), Kind: r.Kind})
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, answer(t, client, http.MethodPost, cfg.Host+r.URL, body), r.URL)
	}
}

func httpClientFor(t *testing.T, cfg *rest.Config) *http.Client {
	client, err := rest.HTTPClientFor(cfg)
	require.NoError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func answer(t *testing.T, client *http.Client, method, url string, body []byte) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

func TestIdentities_AreWhatTheServerDoes(t *testing.T) {
	_, client := startServer(t)
	changes, err := Identities(t.Context(), client)
	require.NoError(t, err)
	lines := []string{"| what was done | key | UID | resourceVersion | generation |", "|---|---|---|---|---|"}
	for _, c := range changes {
		lines = append(lines, row(c.What, c.Key, c.UID, c.ResourceVersion, c.Generation))
	}
	requireTable(t, "identities", strings.Join(lines, "\n")+"\n")
}

func TestIdentities_AreTheSameUpstream(t *testing.T) {
	plane := controlplane.Start(t)
	want, err := Identities(t.Context(), newClient(t, plane.Config(controlplane.Admin)))
	require.NoError(t, err)
	_, client := startServer(t)
	got, err := Identities(t.Context(), client)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestPage_PathsExist asks the go command for all of them at once.
func TestPage_PathsExist(t *testing.T) {
	paths := quoted(t, regexp.MustCompile("`((?:k8s\\.io|sigs\\.k8s\\.io|glasswatch|github\\.com)/[\\w./-]+)`"))
	require.Greater(t, len(paths), 50)
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-f", "{{if .Error}}{{.ImportPath}}: {{.Error}}{{end}}"}, paths...)...)
	cmd.Dir = "../../.."
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, strings.TrimSpace(string(out)))
}

// quoted are the matches in both pages, which must have the same.
func quoted(t *testing.T, pattern *regexp.Regexp) []string {
	t.Helper()
	var found [2][]string
	for i, page := range namesPages {
		text := read(t, page)
		for _, match := range pattern.FindAllStringSubmatch(text, -1) {
			found[i] = append(found[i], match[1])
		}
		slices.Sort(found[i])
		found[i] = slices.Compact(found[i])
	}
	require.Equal(t, found[0], found[1], "the pages name different ones")
	return found[0]
}

// TestPage_URLsAnswer takes all URLs of the text that are not in the table of resources.
func TestPage_URLsAnswer(t *testing.T) {
	cfg, client := startServer(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cart"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	_, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err)
	table := regexp.MustCompile(`(?s)<!-- table resources -->.*?<!-- end -->`).FindString(read(t, namesPages[0]))
	asked := 0
	for _, url := range quoted(t, regexp.MustCompile("[`\\s](/(?:apis?|version|openapi|readyz)[^`\\s…]*)[`\\s]")) {
		if strings.Contains(table, "`"+url+"`") {
			continue // see TestResources_URLsAnswer
		}
		asked++
		query := "?"
		if strings.Contains(url, "?") {
			query = "&"
		}
		require.Equal(t, http.StatusOK, answer(t, httpClientFor(t, cfg), http.MethodGet, cfg.Host+url+query+"timeoutSeconds=1", nil), url)
	}
	require.GreaterOrEqual(t, asked, 8)
}
