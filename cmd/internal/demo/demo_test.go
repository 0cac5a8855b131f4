package demo_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"glasswatch/cmd/internal/cluster"
	"glasswatch/cmd/internal/demo"
	"glasswatch/cmd/internal/demo/demotest"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

func TestMain(m *testing.M) {
	demotest.Main(m, func() { demo.Main(storyOf(waiting)) })
}

func storyOf(tell func(ctx context.Context, d *demo.Demo) error) demo.Story {
	return demo.Story{Name: "00-test", Title: "A test", Next: "README.md", Tell: tell}
}

// waiting stays in its first step until it is interrupted.
func waiting(ctx context.Context, d *demo.Demo) error {
	d.Step("Waiting")
	<-ctx.Done()
	return ctx.Err()
}

// onCluster runs a server, and gives use a client and the path of a kubeconfig for it.
func onCluster(t *testing.T, use func(client kubernetes.Interface, kubeconfig string)) {
	s := apiservertest.StartOnSocket(t, apiserver.Options{})
	use(s.Client, s.Kubeconfig())
}

func requireGone(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, demo.Eventually(ctx, func() error {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	}))
}

func TestCluster_TheNamespaceIsRemovedHoweverTheStoryEnds(t *testing.T) {
	onCluster(t, func(client kubernetes.Interface, kubeconfig string) {
		for name, end := range map[string]func() error{
			"well":    func() error { return nil },
			"error":   func() error { return errors.New("no luck") },
			"check":   func() error { demo.Check(errors.New("no luck")); return nil },
			"must":    func() error { demo.Must(1, errors.New("no luck")); return nil },
			"panic":   func() error { panic("a bug") },
			"nothing": func() error { return demo.Eventually(t.Context(), func() error { return nil }) },
		} {
			namespace, cleaned := "", false
			story := storyOf(func(ctx context.Context, d *demo.Demo) error {
				namespace = d.Namespace
				require.Nil(t, d.FaultStep("A fault"), "faults are not for clusters")
				d.Cleanup(func(ctx context.Context) error {
					_, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
					cleaned = err == nil
					return err
				})
				demo.Must(d.Client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}))
				return end()
			})
			var stdout, stderr bytes.Buffer
			code := -1
			func() {
				defer func() { _ = recover() }()
				code = demo.Run(t.Context(), story, []string{"--kubeconfig", kubeconfig}, &stdout, &stderr)
			}()
			requireGone(t, client, namespace)
			require.True(t, cleaned, "%s: before the namespace goes", name)
			require.Contains(t, stdout.String(), "left out: faults")
			switch name {
			case "well", "nothing":
				require.Zero(t, code, "%s", &stderr)
			case "panic":
				require.Equal(t, -1, code)
			default:
				require.Equal(t, 1, code)
				require.Equal(t, "00-test: no luck\n", stderr.String())
			}
		}
	})
}

func TestCluster_TheNamespaceGoesThoughSomethingDoesNotEnd(t *testing.T) {
	onCluster(t, func(client kubernetes.Interface, kubeconfig string) {
		release, namespace := make(chan struct{}), make(chan string, 1)
		story := storyOf(func(ctx context.Context, d *demo.Demo) error {
			namespace <- d.Namespace
			d.Go(ctx, func(context.Context) { <-release })
			return nil
		})
		code := make(chan int)
		go func() {
			code <- demo.Run(t.Context(), story, []string{"--kubeconfig", kubeconfig}, &bytes.Buffer{}, &bytes.Buffer{})
		}()
		requireGone(t, client, <-namespace)
		close(release)
		require.Zero(t, <-code)
	})
}

func TestCluster_ASignalRemovesTheNamespace(t *testing.T) {
	onCluster(t, func(client kubernetes.Interface, kubeconfig string) {
		program, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.Command(program, "--kubeconfig", kubeconfig)
		cmd.Env = append(os.Environ(), demo.ChildVariable+"=main")
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		namespace := ""
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if rest, ok := strings.CutPrefix(lines.Text(), "namespace "); ok {
				namespace, _, _ = strings.Cut(rest, ",")
			}
			if strings.HasPrefix(lines.Text(), " 1 ") {
				break
			}
		}
		_, err = client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Wait(), &exit)
		require.Equal(t, 130, exit.ExitCode())
		requireGone(t, client, namespace)
	})
}

func TestFollow_StaysTillInterruptedAndEndsWell(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	story := storyOf(func(context.Context, *demo.Demo) error { return nil })
	story.Follow = func(ctx context.Context, d *demo.Demo) error {
		require.NotNil(t, d.FaultStep("Faults are for the server in process"))
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	var stdout, stderr bytes.Buffer
	require.Zero(t, demo.Run(ctx, story, []string{"--follow"}, &stdout, &stderr), "%s", &stderr)
	require.Contains(t, stdout.String(), "Next: README.md")
	require.NotContains(t, stdout.String(), "\x1b[")
}

// The first lines of a demo promise this, and its curl lines need it.
func TestFollow_KeepsTheServerAndItsKubeconfigForOthers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told, stdout := io.Pipe()
	code := make(chan int, 1)
	story := storyOf(func(context.Context, *demo.Demo) error { return nil })
	go func() {
		code <- demo.Run(ctx, story, []string{"--follow"}, stdout, io.Discard)
		stdout.Close()
	}()
	kubeconfig := ""
	for lines := bufio.NewScanner(told); lines.Scan(); {
		if found := regexp.MustCompile(`kubeconfig (\S+); --follow keeps both$`).FindStringSubmatch(lines.Text()); found != nil {
			kubeconfig = found[1]
		}
		if strings.HasPrefix(lines.Text(), "Following") {
			cfg, _, err := cluster.Flags{Kubeconfig: kubeconfig}.Config()
			require.NoError(t, err)
			client, err := kubernetes.NewForConfig(cfg)
			require.NoError(t, err)
			_, err = client.CoreV1().Namespaces().Get(t.Context(), "demo", metav1.GetOptions{})
			require.NoError(t, err)
			cancel()
		}
	}
	require.Zero(t, <-code)
	require.NotEmpty(t, kubeconfig)
	require.NoFileExists(t, kubeconfig)
}

func TestLog_ClientGosOwnLinesComeInTheFormatAskedFor(t *testing.T) {
	story := storyOf(func(ctx context.Context, d *demo.Demo) error {
		_, err := d.Client.Discovery().ServerVersionWithContext(ctx)
		return err
	})
	run := func(args ...string) string {
		var stdout, stderr bytes.Buffer
		require.Zero(t, demo.Run(t.Context(), story, args, &stdout, &stderr), "%s", &stderr)
		return stderr.String()
	}
	require.Empty(t, run(), "silent unless asked")
	callers := ""
	for line := range strings.Lines(run("-v=8", "--log-format=json")) {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &fields), "%s", line)
		callers += fields["caller"].(string) + " "
	}
	require.Contains(t, callers, "transport/round_trippers.go")
	require.Contains(t, run("-v=8"), "round_trippers.go")
	require.NotContains(t, run("-v=0"), "round_trippers.go")
}

func TestFlags_SayWhatIsWrong(t *testing.T) {
	for args, want := range map[string]string{
		"extra":                     `want flags only, got "extra"`,
		"--context=x":               "--context: give --kubeconfig, too",
		"--log-format=xml":          "--log-format",
		"--kubeconfig=/no/such":     "/no/such",
		"--log-file=/no/such/place": "--log-file",
	} {
		var stderr bytes.Buffer
		require.Equal(t, 1, demo.Run(t.Context(), storyOf(waiting), []string{args}, &bytes.Buffer{}, &stderr))
		require.Contains(t, stderr.String(), want)
	}
}

func TestNumberedDemos_LeadThroughTheTourAndHaveGoldenFiles(t *testing.T) {
	_, file, _, _ := runtime.Caller(0)
	dirs, err := filepath.Glob(filepath.Join(filepath.Dir(file), "..", "..", "[0-9][0-9]*-*"))
	require.NoError(t, err)
	require.Len(t, dirs, 14)
	tour, err := os.ReadFile(filepath.Join(filepath.Dir(file), "../../../docs/learn/tour.md"))
	require.NoError(t, err)
	next, chapter := regexp.MustCompile(`Next:\s+"(.+?)"`), 0
	for _, dir := range dirs {
		name := filepath.Base(dir)
		test, err := os.ReadFile(filepath.Join(dir, "main_test.go"))
		require.NoError(t, err)
		require.Contains(t, string(test), "demotest.Check", name)
		require.FileExists(t, filepath.Join(dir, "testdata", name+".golden"))
		source, err := os.ReadFile(filepath.Join(dir, "main.go"))
		require.NoError(t, err)
		named := next.FindStringSubmatch(string(source))
		require.Len(t, named, 2, name)
		var now int
		_, err = fmt.Sscanf(named[1], "docs/learn/tour.md, chapter %d", &now)
		require.NoError(t, err, "%s: %s", name, named[1])
		require.GreaterOrEqual(t, now, chapter, name)
		chapter = now
		require.Contains(t, string(tour), fmt.Sprintf("\n## %d ", chapter), name)
	}
	require.Equal(t, 10, chapter)
}

func TestTeller_PrintsInTheStorysGoroutineAndBlocksTheCallerMeanwhile(t *testing.T) {
	story := storyOf(func(ctx context.Context, d *demo.Demo) error {
		teller := d.Teller(ctx)
		var told atomic.Int64
		d.Go(ctx, func(context.Context) {
			for n := range 3 {
				teller.Tell("line %d", n)
				told.Add(1)
			}
		})
		require.Zero(t, told.Load(), "nobody has read")
		teller.Until("line 1")
		return nil // line 2 is not printed
	})
	var stdout, stderr bytes.Buffer
	require.Zero(t, demo.Run(t.Context(), story, nil, &stdout, &stderr), "%s", &stderr)
	require.Contains(t, stdout.String(), "   saw   line 0\n   saw   line 1\n\nNext")
}

func TestSteps_EndWhatTheyHaveStarted(t *testing.T) {
	ended := false
	story := storyOf(demo.Steps(
		func(ctx context.Context, d *demo.Demo) {
			d.Go(ctx, func(ctx context.Context) { <-ctx.Done(); ended = true })
		},
		func(_ context.Context, d *demo.Demo) { d.Saw("ended %t", ended) }))
	var stdout, stderr bytes.Buffer
	require.Zero(t, demo.Run(t.Context(), story, nil, &stdout, &stderr), "%s", &stderr)
	require.Contains(t, stdout.String(), "ended true")
}
