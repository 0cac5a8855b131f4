// Package demotest holds the tests that every numbered demo has.
//
//	func TestMain(m *testing.M) { demotest.Main(m, main) }
//
//	func TestDemo(t *testing.T) { demotest.Check(t, story) }
//
// [Check] runs the story in process and compares its output with testdata/<name>.golden. It checks its flags and its length. With
// -update, the golden file is written instead. With -demo.all the story is told three times more: on a "cluster", an API server of which
// it has only a kubeconfig; interrupted; and followed. `make check` does so.
package demotest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"glasswatch/cmd/internal/cluster"
	"glasswatch/cmd/internal/demo"
	"glasswatch/internal/apiserver"
)

// MaxLines is the greatest length of a demo's file, maxToyLines that of toy.go, which is a whole informer. maxColumns is
// the greatest width, with tabs of four columns. A demo has one file, or a few if it has much to show.
const (
	MaxLines    = 160
	maxToyLines = 300
	maxColumns  = 140
	maxFiles    = 4
)

var all = flag.Bool("demo.all", false, "tell the story on a cluster, interrupted and followed as well")

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// Main runs the tests and looks for goroutines that are left. The children of demos that start themselves again come here,
// too: with [demo.ChildVariable] set, main is run instead.
func Main(m *testing.M, main func()) {
	demo.Brief = true
	if os.Getenv(demo.ChildVariable) != "" {
		main()
		return
	}
	// klog's flush daemon has no way to be stopped.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// Check runs all checks of a story. Its folder is the working directory.
func Check(t *testing.T, s demo.Story) {
	t.Run("tells the same each time", func(t *testing.T) { checkGolden(t, s) })
	check(t, s)
}

func check(t *testing.T, s demo.Story) {
	checkAll(t, s)
	t.Run("explains its flags", func(t *testing.T) { checkHelp(t, s) })
	t.Run("is short and names the file to open next", func(t *testing.T) { checkSource(t, s) })
}

// CheckOutput runs the checks of a story that is a part of a larger program: all but those of the flags' explanation and
// of the source files.
func CheckOutput(t *testing.T, s demo.Story) {
	t.Run("tells the same each time", func(t *testing.T) { checkGolden(t, s) })
	checkAll(t, s)
}

func checkAll(t *testing.T, s demo.Story) {
	if !*all {
		return
	}
	t.Run("works in one namespace of a cluster and removes it", func(t *testing.T) { checkCluster(t, s) })
	t.Run("removes its namespace when interrupted", func(t *testing.T) { checkInterrupt(t, s) })
	t.Run("follows, and logs where it is told to", func(t *testing.T) { checkFollow(t, s) })
}

// CheckVirtual is Check, but the story compared with the golden file is told in virtual time. It must not start processes, and must reach
// its server by the demo's configuration only.
func CheckVirtual(t *testing.T, s demo.Story) {
	t.Run("tells the same each time", func(t *testing.T) {
		listen := cluster.Listen
		t.Cleanup(func() { cluster.Listen = listen })
		cluster.Listen = func() (net.Listener, error) { return apiserver.NewPipeListener(), nil }
		synctest.Test(t, func(t *testing.T) { checkGolden(t, s) })
	})
	check(t, s)
}

func tell(t *testing.T, s demo.Story, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := demo.Run(t.Context(), s, args, &stdout, &stderr)
	require.Zero(t, code, "%s%s", &stdout, &stderr)
	require.Empty(t, stderr.String())
	return stdout.String()
}

func checkGolden(t *testing.T, s demo.Story) {
	got := Mask(tell(t, s))
	path := filepath.Join("testdata", s.Name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "write it with -update")
	requireSameLines(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"))
	require.NotContains(t, got, "\x1b[", "colours are for terminals")
}

// requireSameLines names the first line that differs, for two whole screens would hide it.
func requireSameLines(t *testing.T, want, got []string) {
	t.Helper()
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			t.Fatalf("line %d differs; if this is how it should be, write it with -update\nwant %q\n got %q",
				i+1, want[min(i, len(want)):min(i+3, len(want))], got[min(i, len(got)):min(i+3, len(got))])
		}
	}
}

// masks match the parts that differ between two good runs.
var masks = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(regexp.QuoteMeta(strings.TrimRight(os.TempDir(), "/")) + `/[\w./-]+`), "TEMPFILE"},
	{regexp.MustCompile(`apiserver\.pipe`), "127.0.0.1:PORT"}, // in virtual time
	{regexp.MustCompile(`(127\.0\.0\.1|localhost|\[::1\]):\d+`), "$1:PORT"},
	{regexp.MustCompile(`10\.\d+\.\d+\.\d+`), "IP"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)`), "DATE"},
	{regexp.MustCompile(`((?i:resourceVersion|\brv|revision)("?[:=]? ?"?))[1-9]\d*`), "${1}RV"},
	{regexp.MustCompile(`(too old resource version: )\d+ \(\d+\)`), "${1}RV (RV)"},
	{regexp.MustCompile(`(continue=)[\w%-]+`), "${1}TOKEN"},
	{regexp.MustCompile(`\bpid \d+`), "pid PID"},
	{regexp.MustCompile(`(timeoutSeconds=)\d{3,}`), "${1}SECONDS"}, // a reflector's is random
	// the head of a line of klog's, where a line was logged, and how long client-go says that a request took
	{regexp.MustCompile(`\b([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ `), "${1}DATE PID "},
	{regexp.MustCompile(`(\w\.go:)\d+`), "${1}LINE"},
	{regexp.MustCompile(`(milliseconds"?[=:])\d+`), "${1}MEASURE"},
	{regexp.MustCompile(`\d+ namespaces made`), "MANY namespaces made"}, // fewer in tests
	{regexp.MustCompile(` *\d+ Services`), " MANY Services"},            // likewise
	{regexp.MustCompile(` *\d+ lists`), " MANY lists"},                  // more if shards come one by one
	{regexp.MustCompile(`[▁▂▃▄▅▆▇█]{10,}`), "CURVE"},
	// a client's and a request's deadline are at the same moment, and either may be noticed first
	{regexp.MustCompile(`(context deadline exceeded|net/http: request canceled)( \(Client\.Timeout exceeded while awaiting headers\))?`), "DEADLINE EXCEEDED"},
}

// measure is a duration or a size, with the blanks around it, whose number depends on the value.
var measure = regexp.MustCompile(`[ \t]*\b((\d+(\.\d+)?(h|ms|m|s|µs|ns))+|\d+ ms|\d+(\.\d+)? ?([KMG]i)?B)\b[ \t]*`)

// Mask puts a word in place of each time, size, port, address, temporary file, UID and resourceVersion.
func Mask(text string) string {
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.mask)
	}
	text = measure.ReplaceAllStringFunc(text, func(found string) string {
		masked := "MEASURE"
		if strings.HasPrefix(found, " ") {
			masked = " " + masked
		}
		if strings.HasSuffix(found, " ") {
			masked += " "
		}
		return masked
	})
	return strings.ReplaceAll(text, " \n", "\n")
}

// withCluster runs an API server for use, and gives it a client and the path of a kubeconfig.
func withCluster(t *testing.T, s demo.Story, use func(client kubernetes.Interface, kubeconfig string)) {
	t.Helper()
	err := cluster.Embedded(t.Context(), apiserver.New(s.Server), "", func(_ context.Context, e cluster.Embedding) error {
		client, err := kubernetes.NewForConfig(e.Config)
		require.NoError(t, err)
		use(client, e.Kubeconfig)
		return nil
	})
	require.NoError(t, err)
}

// requireClean wants that deletion was requested; the cluster does the rest.
func requireClean(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, demo.Eventually(ctx, func() error {
		left, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{LabelSelector: demo.LabelDemo})
		if err == nil && len(left.Items) > 0 {
			err = fmt.Errorf("namespace %s is left", left.Items[0].Name)
		}
		return err
	}))
}

func checkCluster(t *testing.T, s demo.Story) {
	withCluster(t, s, func(client kubernetes.Interface, kubeconfig string) {
		before, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		log := filepath.Join(t.TempDir(), "log")
		out := tell(t, s, "--kubeconfig", kubeconfig, "-v=6", "--log-format=json", "--log-file", log)
		requireJSON(t, log)
		require.Contains(t, out, "namespace glasswatch-"+s.Name+"-")
		requireClean(t, client)
		after, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, after.Items, len(before.Items))
	})
}

// requireJSON wants a log of JSON with a line of client-go's in it: at level 6 it has one for each request.
func requireJSON(t *testing.T, log string) {
	t.Helper()
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		require.True(t, json.Valid([]byte(line)), "%s", line)
	}
	require.Contains(t, string(text), "transport/round_trippers.go")
}

// checkFollow sends Ctrl-C when the story has ended and follows, which must end without an error.
func checkFollow(t *testing.T, s demo.Story) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	log := filepath.Join(t.TempDir(), "log")
	stdout, stderr := &trigger{text: "Following, till you press Ctrl-C", fire: cancel}, &bytes.Buffer{}
	code := demo.Run(ctx, s, []string{"--follow", "-v=1", "--log-format=text", "--log-file", log}, stdout, stderr)
	require.Zero(t, code, "%s%s", &stdout.seen, stderr)
	require.Empty(t, stderr.String())
	require.Contains(t, stdout.seen.String(), "Next: "+s.Next)
	text, err := os.ReadFile(log)
	require.NoError(t, err, "--log-file makes the file")
	for line := range strings.Lines(string(text)) {
		require.False(t, json.Valid([]byte(line)), "%s", line)
	}
}

// checkInterrupt sends Ctrl-C as soon as the first step begins.
func checkInterrupt(t *testing.T, s demo.Story) {
	withCluster(t, s, func(client kubernetes.Interface, kubeconfig string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stdout := &trigger{text: "\n 1 ", fire: cancel}
		code := demo.Run(ctx, s, []string{"--kubeconfig", kubeconfig}, stdout, io.Discard)
		require.Equal(t, 130, code, "%s", &stdout.seen)
		requireClean(t, client)
	})
}

// trigger calls fire once it has seen text.
type trigger struct {
	text string
	fire func()
	mu   sync.Mutex // protects seen
	seen bytes.Buffer
}

func (w *trigger) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Write(p)
	if bytes.Contains(w.seen.Bytes(), []byte(w.text)) {
		w.fire()
	}
	return len(p), nil
}

func checkHelp(t *testing.T, s demo.Story) {
	out := tell(t, s, "--help")
	for _, want := range []string{s.Title, "--demo", "--kubeconfig", "--context", "--follow", "-v,", "--log-format", "--log-file"} {
		require.Contains(t, out, want)
	}
}

func checkSource(t *testing.T, s demo.Story) {
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	files := slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	require.Contains(t, files, "main.go")
	require.LessOrEqual(t, len(files), maxFiles)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		limit := MaxLines
		if name == "toy.go" {
			limit = maxToyLines
		}
		require.LessOrEqual(t, strings.Count(string(text), "\n"), limit, name)
		for line := range strings.Lines(string(text)) {
			wide := strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")
			require.LessOrEqual(t, utf8.RuneCountInString(wide), maxColumns, "%s: %s", name, line)
		}
	}
	dir, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, filepath.Base(dir), s.Name)
	page, _, _ := strings.Cut(s.Next, ", chapter ")
	requireFile(t, page)
	if s.Layer != "" {
		requireFile(t, s.Layer)
	}
}

// requireFile takes a path from the module's folder.
func requireFile(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(filepath.Join("..", "..", path))
	require.NoError(t, err)
	require.False(t, info.IsDir(), "%s is no file", path)
}
