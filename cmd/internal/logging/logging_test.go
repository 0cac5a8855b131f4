package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	// klog's flush daemon has no way to be stopped.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// start parses args, and logs what use logs.
func start(t *testing.T, use func(), args ...string) (stderr string) {
	t.Helper()
	f, fs := &Flags{}, pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.AddTo(fs)
	require.NoError(t, fs.Parse(append([]string{"-v=0"}, args...)))
	var out bytes.Buffer
	stop, err := f.Start(&out)
	require.NoError(t, err)
	use()
	require.NoError(t, stop())
	return out.String()
}

func line(t *testing.T, text string) map[string]any {
	t.Helper()
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &fields), "%s", text)
	return fields
}

func TestJSON_CarriesStructuredAndPlainLinesAlike(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}}
	out := start(t, func() {
		klog.ErrorS(errors.New("no luck"), "Cannot start", "pod", klog.KObj(pod))
		klog.Warningf("%d left", 3)
		logger := klog.LoggerWithName(klog.LoggerWithValues(klog.Background(), "worker", 1), "queue")
		logger.V(4).Info("Took", "key", klog.KRef("shop", "cart"))
		logger.V(5).Info("Too much")
		rest.WarningLogger{}.HandleWarningHeader(299, "-", "client-go's own words")
	}, "--log-format=json", "-v=4")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 4)
	failed := line(t, lines[0])
	require.Equal(t, "no luck", failed["err"])
	require.Equal(t, "error", failed["level"])
	require.Equal(t, map[string]any{"namespace": "shop", "name": "cart"}, failed["pod"])
	require.Contains(t, failed["caller"], "logging_test.go")
	require.Equal(t, "3 left", line(t, lines[1])["msg"])
	took := line(t, lines[2])
	require.Equal(t, "queue", took["logger"])
	require.EqualValues(t, 4, took["v"])
	require.EqualValues(t, 1, took["worker"])
	require.Equal(t, "info", took["level"])
	require.Equal(t, "Warning: client-go's own words", line(t, lines[3])["msg"])
}

func TestText_IsKlogsOwnFormat(t *testing.T) {
	out := start(t, func() {
		klog.InfoS("Started", "workers", 2)
		klog.V(1).InfoS("Too much")
	})
	require.Regexp(t, `^I\d{4} [\d:.]+ +\d+ logging_test.go:\d+\] "Started" workers=2\n$`, out)
}

func TestStop_GivesKlogItsVerbosityBack(t *testing.T) {
	before := klog.V(9).Enabled()
	start(t, func() { require.True(t, klog.V(9).Enabled()) }, "-v=9")
	require.Equal(t, before, klog.V(9).Enabled())
}

func TestFile_IsAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, []byte("before\n"), 0o600))
	stderr := start(t, func() { klog.InfoS("Here") }, "--log-file="+path)
	require.Empty(t, stderr)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "before\n")
	require.Contains(t, string(text), `"Here"`)
}

func TestFlags_SayWhatIsWrongAndWhetherTheyWereUsed(t *testing.T) {
	f, fs := &Flags{}, pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.AddTo(fs)
	require.NoError(t, fs.Parse(nil))
	require.False(t, f.Asked())
	require.NoError(t, fs.Parse([]string{"--log-format=xml"}))
	require.True(t, f.Asked())
	_, err := f.Start(&bytes.Buffer{})
	require.ErrorContains(t, err, `--log-format: want text or json, got "xml"`)

	require.NoError(t, fs.Parse([]string{"--log-format=text", "--log-file=" + filepath.Join(t.TempDir(), "no", "such")}))
	_, err = f.Start(&bytes.Buffer{})
	require.ErrorContains(t, err, "--log-file")
}
