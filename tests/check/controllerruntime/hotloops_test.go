package controllerruntime

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	foos "glasswatch/cmd/foo-controller/client"
	"glasswatch/cmd/foo-controller/foostory"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/lens"
)

// changed reads a file, and puts lines in the places of others: a lens, and a hot loop.
func changed(t *testing.T, file string, changes ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for i := 0; i < len(changes); i += 2 {
		require.Equal(t, 1, strings.Count(string(text), changes[i]), changes[i])
	}
	return []byte(strings.NewReplacer(changes...).Replace(string(text)))
}

// The status counts the passes. The rest is upstream's program on client-go, and what its user adds for the lens.
func TestLens_FindsAHotLoopInTheSampleController(t *testing.T) {
	modfile := swapped(t)
	dir := filepath.Join(filepath.Dir(modfile), "sample-controller")
	require.NoError(t, os.CopyFS(dir, os.DirFS(moduleDir(t, "k8s.io/sample-controller"))))
	command(t, "mod", "edit", "-replace=k8s.io/sample-controller="+dir, modfile)
	write := func(name string, text []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	write("main.go", changed(t, filepath.Join(dir, "main.go"),
		"	kubeClient, err := ", "	serve()\n	cfg.Wrap(why.Transport)\n	kubeClient, err := ",
		"kubeInformerFactory.Apps().V1().Deployments()", "watchedDeployments{kubeInformerFactory.Apps().V1().Deployments()}",
		"exampleInformerFactory.Samplecontroller().V1alpha1().Foos()", "watchedFoos{exampleInformerFactory.Samplecontroller().V1alpha1().Foos()}",
	))
	write("controller.go", changed(t, filepath.Join(dir, "controller.go"),
		"workqueue.NewTypedRateLimitingQueue(ratelimiter)", "watchedQueue(ratelimiter)",
		"fooCopy.Status.AvailableReplicas = deployment.Status.AvailableReplicas", "fooCopy.Status.AvailableReplicas++",
	))
	text, err := os.ReadFile("testdata/hotloops/samplecontroller.go")
	require.NoError(t, err)
	write("lens.go", text)
	program := filepath.Join(dir, "program")
	command(t, "build", "-mod=mod", "-modfile="+modfile, "-o", program, "k8s.io/sample-controller")

	s := apiservertest.StartOnSocket(t, apiserver.Options{})
	require.NoError(t, foos.Define(t.Context(), s.Config))
	running := foostory.Process(program, "--kubeconfig="+s.Kubeconfig())(t)
	client, err := dynamic.NewForConfig(s.Config)
	require.NoError(t, err)
	resource := schema.GroupVersionResource{Group: "samplecontroller.k8s.io", Version: "v1alpha1", Resource: "foos"}
	_, err = client.Resource(resource).Namespace("default").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"deploymentName": "web", "replicas": int64(1)},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)

	var report lens.Report
	apiservertest.Eventually(t, "the lens finds the hot loop", func() error {
		page := regexp.MustCompile(`(?m)^http://.*$`).FindString(running.Log())
		if page == "" {
			return fmt.Errorf("no page: %s", running.Log())
		}
		report = ask(t, page+"?key=default/web")
		if len(report.Keys) != 1 || !report.Keys[0].WakesItself {
			return fmt.Errorf("%+v", report)
		}
		return nil
	})
	require.Equal(t, []string{".status.availableReplicas"}, report.Keys[0].Flapping)
	require.Equal(t, "deployments", report.Informers[0].Name)
	require.Equal(t, "foos", report.Informers[1].Name)
	require.Equal(t, -1, report.Informers[1].Objects, "it is client-go's")
}

// ask asks a lens for its JSON.
func ask(t *testing.T, url string) (report lens.Report) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Header.Set("Accept", "application/json")
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&report))
	return report
}

// The status counts the passes. The rest is the operator of the package cloudmanager, on our informers and our queue.
func TestLens_FindsAHotLoopInTheCloudManager(t *testing.T) {
	dir := t.TempDir()
	here, err := filepath.Abs("cloudmanager")
	require.NoError(t, err)
	replaced := map[string]string{}
	put := func(name string, text []byte) {
		replaced[filepath.Join(here, name)] = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	put("manager.go", changed(t, "cloudmanager/manager.go",
		"NewInformer: cache.NewSharedIndexInformer,", "NewInformer: watched,",
		`	"glasswatch/compat/cache"`+"\n", "",
		"return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config)",
		"return watchedQueue(name, workqueue.NewTypedRateLimitingQueueWithConfig(limiter, config))",
	))
	put("reconcile.go", changed(t, "cloudmanager/reconcile.go",
		"if equality.Semantic.DeepEqual(before, after) {",
		"after.ObservedGeneration = before.ObservedGeneration + 1\n	if equality.Semantic.DeepEqual(before, after) {",
	))
	text, err := os.ReadFile("testdata/hotloops/cloudmanager_test.go")
	require.NoError(t, err)
	put("why_test.go", text)
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	out := command(t, "test", "-overlay="+file, "-count=1", "-v", "-run=^TestLens$", "./cloudmanager")
	require.Contains(t, out, "--- PASS: TestLens")
}
