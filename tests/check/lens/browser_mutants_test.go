package lens

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// start runs cmd/lens, and returns the address that it prints.
func start(t *testing.T, binary string, environment ...string) (address string) {
	t.Helper()
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), environment...)
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

// A lesson that passes on broken layers would prove nothing. The bugs are all in one program, and off until one is
// asked for.
func TestLessons_BrokenLayersTurnThemRed(t *testing.T) {
	t.Parallel()
	chromium(t)
	binary := mutants.Program(t, "cmd/lens", lensMutants(t))
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		visit(t, start(t, binary, mutants.Switch(0)), "#/lesson/tombstones/answer").proves(false)
	})
	for i, l := range lessons(t) {
		t.Run(l.mutant, func(t *testing.T) {
			t.Parallel()
			b := visit(t, start(t, binary, mutants.Switch(i+1)), l.at("answer"))
			const verdict = `document.querySelector('[data-test=proof]')?.dataset.ok
  ?? (document.querySelector('[data-test=lesson-error]') && 'false')`
			b.until(verdict)
			require.Equal(t, "false", eval[string](b, verdict), b.describe())
		})
	}
}
