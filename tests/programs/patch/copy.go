package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// makeCopy copies and patches client-go into a directory below parent, unless it is there already, and returns that.
func makeCopy(parent, source, version string) (dir string, err error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	made, err := os.MkdirTemp(parent, "making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made)
	contents, err := copyPatched(made, source)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(parent, fmt.Sprintf("client-go-%s-%s", version, contents))
	err = os.Rename(made, dir)
	if errors.Is(err, fs.ErrExist) { // made by an earlier run
		err = nil
	}
	return dir, err
}

// copyPatched returns a digest of what was copied.
func copyPatched(dir, source string) (string, error) {
	digest, informers, seen := sha256.New(), 0, map[string]bool{}
	err := filepath.WalkDir(source, func(name string, entry fs.DirEntry, err error) error {
		file, _ := filepath.Rel(source, name)
		file = filepath.ToSlash(file)
		if err != nil || entry.IsDir() || skipped(file) {
			return err
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		text := string(raw)
		if replacements := patchesOf(file, text); replacements != nil {
			if text, err = apply(file, text, replacements); err != nil {
				return err
			}
			seen[file] = true
			if strings.HasPrefix(file, "informers/") {
				informers++
			}
		}
		fmt.Fprintf(digest, "%s %d\n%s", file, len(text), text)
		return write(dir, file, text)
	})
	if err != nil {
		return "", err
	}
	if informers != generatedInformers {
		return "", fmt.Errorf("informers/: %d files make informers, not %d: look at the patches again", informers,
			generatedInformers)
	}
	for file := range patched {
		if !seen[file] {
			return "", fmt.Errorf("%s is not there: look at the patches again", file)
		}
	}
	for file, text := range added {
		if _, err := os.Stat(filepath.Join(source, file)); err == nil {
			return "", fmt.Errorf("client-go has a file %s of its own", file)
		}
		if err := write(dir, file, text); err != nil {
			return "", err
		}
	}
	for _, file := range []string{"rest/transport_hook.go", "tools/cache/informer_hook.go"} {
		fmt.Fprintf(digest, "%s %s", file, added[file])
	}
	return hex.EncodeToString(digest.Sum(nil))[:12], nil
}

func write(dir, file, text string) error {
	name := filepath.Join(dir, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}
