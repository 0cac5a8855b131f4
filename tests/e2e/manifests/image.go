package manifests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// built is the path of the Dockerfile's output.
const built = "/out/"

// Build runs the Dockerfile's own build command on this machine, with the version, and puts the program into dir.
func Build(root, version, dir string) (program string, err error) {
	return BuildAs(root, filepath.Join("deploy", "Dockerfile"), "ingress-controller", version, dir)
}

// BuildAs does the same with any Dockerfile below root, whose build command makes a program of that name.
func BuildAs(root, dockerfile, name, version, dir string) (program string, err error) {
	raw, err := os.ReadFile(filepath.Join(root, dockerfile))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(raw)) {
		command, isRun := strings.CutPrefix(line, "RUN ")
		if !isRun || !strings.Contains(command, "go build") {
			continue
		}
		build := exec.Command("sh", "-c", strings.ReplaceAll(command, built, dir+"/"))
		build.Dir = root
		build.Env = append(os.Environ(), "VERSION="+version)
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", command, err, out)
		}
		return filepath.Join(dir, name), nil
	}
	return "", fmt.Errorf("%s: no line with RUN … go build", dockerfile)
}
