package lens

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens"
	"glasswatch/internal/lens/look"
	"glasswatch/tests/check/mutants"
)

// lensMutants are the bugs that the lessons name, in the lessons' order.
func lensMutants(t *testing.T) (all []mutants.Mutant) {
	t.Helper()
	known := mutants.Read(t, "../mutants/testdata/*.txt")
	known = append(known, mutants.Read(t, "../../../internal/lens/testdata/lessons/mutants.txt")...)
	for _, l := range lessons(t) {
		i := slices.IndexFunc(known, func(m mutants.Mutant) bool { return m.Name == l.mutant })
		require.GreaterOrEqual(t, i, 0, "there is no mutant %s", l.mutant)
		all = append(all, known[i])
	}
	return all
}

// start runs cmd/lens with a bug switched on, and returns the address that it prints.
func start(t *testing.T, binary, bug string, args ...string) (address string) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), bug)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() }) // a broken layer may not stop
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		late.Stop()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	address, found := strings.CutPrefix(strings.TrimSpace(line), "Open ")
	require.True(t, found, line)
	return address
}

// A lesson that passes on broken layers would prove nothing, nor would a test that a session is exported as. The bugs are all
// in one program, and off until one is asked for.
func TestLessons_BrokenLayersTurnThemRed(t *testing.T) {
	t.Parallel()
	chromium(t)
	all := lensMutants(t)
	binary := mutants.Program(t, "cmd/lens", all)
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		work(t)
		visit(t, start(t, binary, mutants.Switch(0)), "#/lesson/tombstones/answer").proves(false)
	})
	for i, l := range lessons(t) {
		t.Run(l.mutant, func(t *testing.T) {
			t.Parallel()
			work(t)
			require.True(t, turnsRed(t, binary, i+1, l))
		})
	}
	for name, number := range map[string]int{
		"an exported session without a bug": 0,
		"an exported session":               1 + slices.IndexFunc(all, func(m mutants.Mutant) bool { return m.Name == exportMutant }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, number == 0, comesOut(t, binary, mutants.Switch(number)))
		})
	}
}

// turnsRed reports whether a lesson is not proved with a bug. If that is because something was waited for in vain, a slow machine may be
// why: then it must be so in four times as long as is enough without a bug.
func turnsRed(t *testing.T, binary string, bug int, l lesson) bool {
	t.Helper()
	const first, most = 15, 240 // seconds
	proved, late := provedWithin(t, binary, bug, l, first)
	if proved || !late {
		return !proved
	}
	enough := first
	for ; ; enough *= 2 {
		if proved, late = provedWithin(t, binary, 0, l, enough); proved {
			break
		}
		require.True(t, late && enough < most, "without a bug the lesson is not proved")
	}
	proved, _ = provedWithin(t, binary, bug, l, 4*enough)
	return !proved
}

// provedWithin runs a lesson with a bug, or with 0 without one. late says that something was waited for in vain, for so many seconds.
func provedWithin(t *testing.T, binary string, bug int, l lesson, seconds int) (proved, late bool) {
	t.Helper()
	b := visit(t, start(t, binary, mutants.Switch(bug)), l.at("answer"), onEachPage(fmt.Sprintf(`window.lessonPatience = %d`, seconds)))
	b.until(`document.querySelector('[data-test=proof], [data-test=lesson-error]')`)
	proved = eval[bool](b, `document.querySelector('[data-test=proof]')?.dataset.ok === 'true'`)
	late = eval[bool](b, `!!document.querySelector('[data-test=lesson-error]')
  || !!document.querySelector('[data-test=missing]')?.innerText.includes('waited in vain')`)
	return proved, late
}

// exportMutant: a deletion that a list shows looks like one that was seen.
const exportMutant = "sharedinformer/relist-deletion-without-its-mark"

// exampleTells is the line of the example in which that shows, and exampleCalls is how many calls of handlers for Services there are in it.
const (
	exampleTells = `called audit: OnAdd v1, OnUpdate v2 was v1, OnDelete v2 tombstone`
	exampleCalls = 10
)

// comesOut reports whether the example's session is observed as it was, when a program plays it.
func comesOut(t *testing.T, binary, bug string) bool {
	t.Helper()
	text, err := os.ReadFile(exampleFile)
	require.NoError(t, err)
	require.Contains(t, string(text), exampleTells)
	file := filepath.Join(t.TempDir(), "session.json")
	require.NoError(t, os.WriteFile(file, exportedSession.FindSubmatch(text)[1], 0o600))
	address, err := url.Parse(start(t, binary, bug, "--session", file))
	require.NoError(t, err)
	c := client{t: t, handler: lens.Attach(&url.URL{Scheme: address.Scheme, Host: address.Host}, address.Query().Get("token"))}
	c.until(func(n now) bool { return n.Counts[look.Called]["Service"] == exampleCalls })
	return strings.Contains(c.ask("GET", "/api/session.go", ""), exampleTells)
}
