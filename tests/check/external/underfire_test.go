package external

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/lens"
)

// underFire runs the test of an operator in a module of its own.
func underFire(t *testing.T, session string, environment ...string) (out string, err error) {
	t.Helper()
	cmd := exec.Command("go", "test", "-count=1", "-v", ".", "-controllertest.session="+session)
	cmd.Dir = "underfire"
	cmd.Env = append(append(os.Environ(), "GOWORK=off"), environment...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

func TestUnderFire_AnOperatorOfAnotherModule(t *testing.T) {
	session := filepath.Join(t.TempDir(), "session.json")
	out, err := underFire(t, session)
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `[1-9]\d plans of faults, of which \d+ came to pass and hit \d+ requests; 0 findings`, out)
	require.NoFileExists(t, session)

	out, err = underFire(t, session, "HASTY=1")
	require.Error(t, err)
	const plan = "watch late by minutes: others delete configmaps default/web #1"
	require.Contains(t, out, plan+"\n")
	require.Contains(t, out, "paces: the program has tried to write secrets default/web 101 times within")
	require.Contains(t, out, "play it again: go test -run '^TestCopier_UnderFire$' -controllertest.fault='"+plan+"'")
	written, err := os.ReadFile(session)
	require.NoError(t, err)
	read, err := lens.ReadSession(written)
	require.NoError(t, err)
	require.NotEmpty(t, read.Recorded)
}
