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
	"time"
)

// makeCopy copies and patches client-go into a directory below parent, unless it is there already, and returns that.
// Copies that no build has used for a day are removed.
func makeCopy(parent, source, version string) (dir string, err error) {
	if dir, err = findCopy(parent, source, version); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
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
	if errors.Is(err, fs.ErrExist) { // made by another run meanwhile
		err = nil
	}
	return dir, errors.Join(err, removeUnused(parent, dir, time.Now().Add(-24*time.Hour)))
}

// findCopy returns where the copy is, or fs.ErrNotExist. It writes nothing.
func findCopy(parent, source, version string) (dir string, err error) {
	contents, err := copyPatched("", source)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(parent, fmt.Sprintf("client-go-%s-%s", version, contents))
	_, err = os.Stat(dir)
	return dir, err
}

// removeUnused removes the copies other than keep whose go.mod was written before then. Each build writes it: another
// checkout may be building with a copy of its own.
func removeUnused(parent, keep string, then time.Time) (err error) {
	copies, _ := filepath.Glob(filepath.Join(parent, "client-go-*-*"))
	for _, dir := range copies {
		if strings.HasSuffix(dir, ".mod") || strings.HasSuffix(dir, ".sum") || dir == keep {
			continue
		}
		used, statErr := os.Stat(dir + ".mod")
		if errors.Is(statErr, fs.ErrNotExist) { // made, and never built with
			used, statErr = os.Stat(dir)
		}
		if statErr != nil || used.ModTime().After(then) {
			continue
		}
		err = errors.Join(err, os.RemoveAll(dir), os.RemoveAll(dir+".mod"), os.RemoveAll(dir+".sum"))
	}
	return err
}

// copyPatched returns a digest of what was copied. If dir is "", it copies nothing.
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
	if dir == "" {
		return nil
	}
	name := filepath.Join(dir, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}
