package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// theirPlace is a function of client-go in the lens's places.js: its file, its name and its line.
var theirPlace = regexp.MustCompile(`\['([^']+\.go)', '([\w.]+)', (\d+)\]`)

// Each box of the lens leads to the functions of client-go that do the same. With -update their lines are written anew.
func TestPlaces_OfClientGoAreThere(t *testing.T) {
	listed, err := exec.Command("go", "list", "-C", root, "-m", "-f", "{{.Dir}} {{.Version}}", "k8s.io/client-go").Output()
	require.NoError(t, err)
	folder, version, _ := strings.Cut(strings.TrimSpace(string(listed)), " ")
	path := filepath.Join(root, "internal/lens/page/places.js")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "clientGo = '"+version+"'")
	found := 0
	made := theirPlace.ReplaceAllStringFunc(string(text), func(place string) string {
		found++
		parts := theirPlace.FindStringSubmatch(place)
		first, _ := lines(t, filepath.Join(folder, parts[1]), parts[2])
		return fmt.Sprintf("['%s', '%s', %d]", parts[1], parts[2], first)
	})
	require.GreaterOrEqual(t, found, 18, "three functions for each box that client-go has")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(made), 0o644))
		return
	}
	require.Equal(t, made, string(text))
}
