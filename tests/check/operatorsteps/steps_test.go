package operatorsteps

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"go/format"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/client-go/gentype"
	"k8s.io/klog/v2"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
	"glasswatch/internal/actors"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/internal/custom"
	"glasswatch/tests/check/pages"
)

const root = "../../.."

var pagePath = filepath.Join(root, "docs", "learn", "operator.md")

var update = flag.Bool("update", false, "write the diffs and what the programs print into docs/learn/operator.md")

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	goleak.VerifyTestMain(m)
}

func TestSteps_ApplyInOrderCompileAndDoWhatThePageSays(t *testing.T) {
	steps := steps(t)
	binary := build(t, steps)
	blocks := map[string]string{}
	for n, s := range steps {
		formatted, err := format.Source([]byte(s.program))
		require.NoError(t, err)
		require.Equal(t, string(formatted), s.program, s.name)
		blocks["diff "+s.name] = pages.Code("diff", s.diff)
		blocks[fmt.Sprintf("prints %d", n+1)] = pages.Code("text", play(t, binary, n+1))
	}
	require.NoError(t, pages.Fill(pagePath, blocks, *update))
}

// build makes one program of all seven, since linking takes long: its argument is the number of the step.
func build(t *testing.T, steps []step) (binary string) {
	t.Helper()
	dir := t.TempDir()
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	write := func(at, text string) {
		file := filepath.Join(dir, strings.ReplaceAll(at, "/", "_"))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		overlay.Replace[filepath.Join(here, "testdata", filepath.FromSlash(at))] = file
	}
	imports, cases := "", ""
	for n := range steps {
		name := fmt.Sprintf("step%d", n+1)
		program := strings.Replace(steps[n].program, "\npackage main\n", "\npackage "+name+"\n", 1)
		require.NotEqual(t, program, steps[n].program)
		write(name+"/main.go", program)
		write(name+"/export.go", "package "+name+"\n\nfunc Main() { main() }\n")
		imports += fmt.Sprintf("%q\n", "glasswatch/tests/check/operatorsteps/testdata/"+name)
		cases += fmt.Sprintf("case \"%d\": %s.Main()\n", n+1, name)
	}
	write("all/main.go", "package main\nimport (\n\"os\"\n"+
		imports+")\nfunc main() {\nswitch os.Args[1] {\n"+cases+"}\n}\n")
	text, err := json.Marshal(overlay)
	require.NoError(t, err)
	list := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(list, text, 0o600))
	binary = filepath.Join(dir, "all.exe")
	out, err := exec.Command("go", "build", "-overlay", list, "-o", binary, "./testdata/all").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// world is an API server with one of the programs.
type world struct {
	*apiservertest.Server
	client  *gentype.ClientWithList[*v1.CloudManager, *v1.CloudManagerList]
	actors  *actors.Workloads
	printed chan string
	text    strings.Builder
}

// act is something that is done, and how many lines the program prints about it.
type act struct {
	do    func(w *world)
	lines int
}

// play runs the program of a step, and returns what it prints.
func play(t *testing.T, binary string, n int) string {
	t.Helper()
	server := apiservertest.StartOnSocket(t, apiserver.Options{})
	w := &world{Server: server, printed: make(chan string, 100), actors: actors.New(server.Client, "")}
	clientOf, err := custom.NewClient[v1.CloudManager, v1.CloudManagerList](server.Config, v1.Scheme, v1.Resource)
	require.NoError(t, err)
	w.client = clientOf("default")
	if n >= 6 { // before that, their writes of statuses would be seen
		apiservertest.Go(t, w.actors.Run)
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)

	acts := script(n)
	acts[0].do(w)
	w.run(binary, n, func() {
		for i, a := range acts {
			if i > 0 {
				a.do(w)
			}
			w.await(n, i, a.lines)
		}
	})
	return w.text.String()
}

// run runs the program for as long as meanwhile takes. It must end well then, without another line.
func (w *world) run(binary string, n int, meanwhile func()) {
	cmd := exec.Command(binary, fmt.Sprint(n))
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.Kubeconfig())
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	require.NoError(w, err)
	require.NoError(w, cmd.Start())
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(w.printed)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			w.printed <- lines.Text()
		}
	}()
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-read
		require.NoError(w, cmd.Wait(), log.String())
		for line := range w.printed {
			require.Fail(w, "one line more", "step %d: %s", n, line)
		}
	}()
	meanwhile()
}

func (w *world) await(n, act, lines int) {
	w.Helper()
	for range lines {
		select {
		case line, ok := <-w.printed:
			require.True(w, ok, "step %d ended at act %d:\n%s", n, act, w.text.String())
			w.text.WriteString(line + "\n")
		case <-time.After(apiservertest.Patience):
			require.Fail(w, "the program is silent", "step %d, act %d, after:\n%s", n, act, w.text.String())
		}
	}
}
