package docs

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"glasswatch/tests/check/pages"
)

// step is a row of docs/learn/source-walk.md: what happens, and the functions that do it in client-go and here. A function is named
// by its file, its receiver and its name.
type step struct {
	what         string
	theirs, ours []string
}

var walks = []struct {
	name  string
	steps []step
}{
	{"walk start", []step{
		{"the informer starts its handlers and its source",
			[]string{"tools/cache/shared_informer.go sharedIndexInformer.RunWithContext", "tools/cache/controller.go controller.RunWithContext"},
			[]string{"sharedinformer/informer.go Informer.Run", "sharedinformer/informer.go Informer.fillStore"}},
		{"the reflector: list, watch, begin again",
			[]string{"tools/cache/reflector.go Reflector.RunWithContext", "tools/cache/reflector.go Reflector.ListAndWatchWithContext"},
			[]string{"reflector/reflector.go Reflector.Run", "reflector/reflector.go Reflector.enter"}},
		{"the first list comes as a stream",
			[]string{"tools/cache/reflector.go Reflector.watchList"},
			[]string{"reflector/list.go streamingList.step"}},
		{"it is complete: all of it goes into the queue, and out",
			[]string{"tools/cache/the_real_fifo.go RealFIFO.Replace", "tools/cache/controller.go processReplacedAllInfo"},
			[]string{"reflector/sink.go Reflector.replace", "deltafifo/inorder.go InOrder.Replace", "sharedinformer/apply.go storeWriter.applyList"}},
	}},
	{"walk event", []step{
		{"the request of a watch",
			[]string{"tools/cache/listwatch.go ListWatch.WatchWithContext", "rest/request.go Request.Watch"},
			[]string{"listwatch/stream.go Client.Watch", "listwatch/request.go Client.send"}},
		{"bytes become an event",
			[]string{"rest/watch/decoder.go Decoder.Decode"},
			[]string{"listwatch/stream.go httpSource.next"}},
		{"the reflector takes it and notes its version",
			[]string{"tools/cache/reflector.go handleAnyWatch", "tools/cache/reflector.go Reflector.setLastSyncResourceVersion"},
			[]string{"reflector/watch.go liveWatch.step", "reflector/watch.go liveWatch.advance"}},
		{"into the queue",
			[]string{"tools/cache/the_real_fifo.go RealFIFO.Add", "tools/cache/the_real_fifo.go RealFIFO.addToItems_locked"},
			[]string{"reflector/sink.go Reflector.put", "deltafifo/inorder.go InOrder.PutAll"}},
		{"out of the queue",
			[]string{"tools/cache/controller.go controller.processLoop", "tools/cache/the_real_fifo.go RealFIFO.PopBatch"},
			[]string{"sharedinformer/informer.go Informer.consume", "deltafifo/inorder.go InOrder.PopBatch"}},
		{"what it means for the store and the handlers",
			[]string{"tools/cache/shared_informer.go sharedIndexInformer.handleDeltas", "tools/cache/controller.go processDeltas"},
			[]string{"sharedinformer/informer.go Informer.process", "sharedinformer/apply.go storeWriter.applyChanges"}},
		{"into the store",
			[]string{"tools/cache/thread_safe_store.go threadSafeMap.Add", "tools/cache/thread_safe_store.go storeIndex.updateIndices"},
			[]string{"indexer/write.go Store.Apply"}},
		{"to every handler's buffer",
			[]string{"tools/cache/shared_informer.go sharedIndexInformer.OnAdd", "tools/cache/shared_informer.go sharedProcessor.distribute", "tools/cache/shared_informer.go processorListener.add"},
			[]string{"sharedinformer/fanout.go fanout.distributeLocked", "sharedinformer/backlog.go backlog.add"}},
		{"the handler's goroutine",
			[]string{"tools/cache/shared_informer.go processorListener.pop", "tools/cache/shared_informer.go processorListener.run"},
			[]string{"sharedinformer/backlog.go backlog.take", "sharedinformer/listener.go listener.run"}},
		{"the handler",
			[]string{"tools/cache/controller.go ResourceEventHandlerFuncs.OnAdd"},
			[]string{"sharedinformer/handler.go HandlerFuncs.OnAdd"}},
		{"the key goes into the work queue, and to a worker",
			[]string{"util/workqueue/queue.go Typed.Add", "util/workqueue/queue.go Typed.Get", "util/workqueue/queue.go Typed.Done"},
			[]string{"workqueue/queue.go Queue.Add", "workqueue/queue.go Queue.Get", "workqueue/queue.go Queue.Done"}},
	}},
	{"walk list", []step{
		{"the typed client",
			[]string{"gentype/type.go alsoLister.List"},
			[]string{"listwatch/list.go Client.List"}},
		{"the request, with its retries",
			[]string{"rest/request.go Request.Do", "rest/request.go Request.request"},
			[]string{"listwatch/request.go Client.send", "listwatch/request.go get"}},
		{"the answer",
			[]string{"rest/request.go Request.transformResponse", "rest/request.go Result.Into"},
			[]string{"listwatch/list.go Client.ReadList", "listwatch/list.go decodeList"}},
	}},
}

// source is where the files of a module are, and how its profile and its links begin. Of a version that is fixed, links name lines.
type source struct {
	folder, profile, url string
	isFixed              bool
}

// lines are those from a function's first to its last.
func lines(t *testing.T, path, function string) (first, last int) {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && receiver(f)+f.Name.Name == function {
			return set.Position(f.Pos()).Line, set.Position(f.End()).Line
		}
	}
	require.Fail(t, "not there", "%s in %s", function, path)
	return 0, 0
}

// receiver is the name of the receiver's type and a dot, or nothing.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	typ := f.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name + "."
		}
	}
}

// profileOfOneEvent returns the lines of each file in which a statement begins that the program ran.
func profileOfOneEvent(t *testing.T) map[string][]int {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	packages := "k8s.io/client-go/tools/cache,k8s.io/client-go/rest,k8s.io/client-go/rest/watch,k8s.io/client-go/gentype,k8s.io/client-go/util/workqueue," +
		"glasswatch/listwatch,glasswatch/reflector,glasswatch/deltafifo,glasswatch/indexer,glasswatch/sharedinformer,glasswatch/workqueue"
	cmd := exec.Command("go", "test", "./tests/tutorials", "-count=1", "-run=^TestOneEvent$", "-coverpkg="+packages, "-coverprofile="+profile)
	cmd.Dir = root
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	text, err := os.ReadFile(profile)
	require.NoError(t, err)
	ran := map[string][]int{}
	for scanner := bufio.NewScanner(bytes.NewReader(text)); scanner.Scan(); {
		var line, column, endLine, endColumn, statements, count int
		file, block, _ := strings.Cut(scanner.Text(), ".go:")
		_, err := fmt.Sscanf(block, "%d.%d,%d.%d %d %d", &line, &column, &endLine, &endColumn, &statements, &count)
		if err == nil && count > 0 {
			ran[file+".go"] = append(ran[file+".go"], line)
		}
	}
	return ran
}

// cell names functions with their places, each of which must have run.
func (s source) cell(t *testing.T, ran map[string][]int, functions []string) string {
	t.Helper()
	var cells []string
	for _, function := range functions {
		file, name, _ := strings.Cut(function, " ")
		first, last := lines(t, filepath.Join(s.folder, file), name)
		passed := false
		for _, line := range ran[s.profile+file] {
			passed = passed || first <= line && line <= last
		}
		assert.True(t, passed, "one event does not pass %s in %s", name, file)
		text, link := strings.TrimPrefix(file, "tools/cache/"), s.url+file
		if s.isFixed {
			text, link = fmt.Sprintf("%s:%d", text, first), fmt.Sprintf("%s#L%d", link, first)
		}
		cells = append(cells, fmt.Sprintf("`%s` [%s](%s)", name, text, link))
	}
	return strings.Join(cells, "<br>")
}

func TestWalk_ShowsFunctionsThatOneEventPasses(t *testing.T) {
	listed, err := exec.Command("go", "list", "-C", root, "-m", "-f", "{{.Dir}} {{.Version}}", "k8s.io/client-go").Output()
	require.NoError(t, err)
	folder, version, _ := strings.Cut(strings.TrimSpace(string(listed)), " ")
	theirs := source{folder, "k8s.io/client-go/", "https://github.com/kubernetes/client-go/blob/" + version + "/", true}
	ours := source{root, "glasswatch/", "../../", false}
	ran, made := profileOfOneEvent(t), map[string]string{}
	for _, walk := range walks {
		table := fmt.Sprintf("| | client-go %s | here |\n|---|---|---|\n", version)
		for _, s := range walk.steps {
			table += fmt.Sprintf("| %s | %s | %s |\n", s.what, theirs.cell(t, ran, s.theirs), ours.cell(t, ran, s.ours))
		}
		made[walk.name] = table
	}
	require.NoError(t, pages.Fill(pathOf("source-walk.md"), made, *update))
}
