package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// builder builds the programs.
type builder struct {
	module  string // the directory of their go.mod
	modFile string // the copy of that go.mod with the replace
}

// repository is the directory of glasswatch's go.mod, at or above the working directory.
func repository() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		mod, readErr := os.ReadFile(filepath.Join(dir, "go.mod"))
		if readErr == nil && bytes.HasPrefix(mod, []byte("module glasswatch\n")) {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("no go.mod of glasswatch above the working directory")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// clientGo returns where the module cache has client-go, and its version.
func (b *builder) clientGo() (dir, version string, err error) {
	if _, err := b.goCommand("mod", "download", "k8s.io/client-go"); err != nil {
		return "", "", err
	}
	raw, err := b.goCommand("list", "-m", "-json", "k8s.io/client-go")
	if err != nil {
		return "", "", err
	}
	var module struct{ Dir, Version string }
	err = json.Unmarshal(raw, &module)
	return module.Dir, module.Version, err
}

// useCopy writes the go.mod that replaces client-go by the copy, and its go.sum, beside the copy.
func (b *builder) useCopy(dir string) error {
	mod, err := os.ReadFile(filepath.Join(b.module, "go.mod"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(b.module, "go.sum"))
	if err != nil {
		return err
	}
	mod = fmt.Appendf(mod, "\nreplace k8s.io/client-go => %s\n", dir)
	b.modFile = dir + ".mod"
	return errors.Join(os.WriteFile(b.modFile, mod, 0o644), os.WriteFile(dir+".sum", sum, 0o644))
}

var errNotCached = errors.New("the build cache does not have the programs; make programs builds them")

func notCached(err error) bool { return errors.Is(err, errNotCached) }

// checkCached asks which packages the go command would compile anew. Those of glasswatch may be among them.
func (b *builder) checkCached() error {
	raw, err := b.goCommand("list", "-modfile="+b.modFile, "-deps", "-e", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}",
		"./programs")
	if err != nil {
		return err
	}
	for _, pkg := range strings.Fields(string(raw)) {
		if !strings.HasPrefix(pkg, "glasswatch/") {
			return fmt.Errorf("%w (%s is not there)", errNotCached, pkg)
		}
	}
	return nil
}

func (b *builder) build(out string) error {
	// Without the commit's name, commits that change no package leave the binary as it is.
	_, err := b.goCommand("build", "-buildvcs=false", "-modfile="+b.modFile, "-o", out, "./programs")
	return err
}

func (b *builder) goCommand(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = b.module, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return out, err
}
