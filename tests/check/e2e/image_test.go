package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// built is the path of the Dockerfile's output.
const built = "/out/"

// buildImage runs the Dockerfile's own build command on this machine for a program of cmd/, with the version. It puts the
// program into dir.
func buildImage(root, name, version, dir string) (program string, err error) {
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "Dockerfile"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(raw)) {
		command, isRun := strings.CutPrefix(line, "RUN ")
		if !isRun || !strings.Contains(command, "go build") {
			continue
		}
		build := exec.Command("sh", "-c", strings.ReplaceAll(command, built+"program", filepath.Join(dir, name)))
		build.Dir = root
		build.Env = append(os.Environ(), "VERSION="+version, "PROGRAM="+name)
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", command, err, out)
		}
		return filepath.Join(dir, name), nil
	}
	return "", fmt.Errorf("deploy/Dockerfile: no line with RUN … go build")
}
