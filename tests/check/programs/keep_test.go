package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kept is a campaign on a binary with these contents.
func kept(t *testing.T, file, contents string, l load, lasts time.Duration) *campaign {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "programs")
	if err := os.WriteFile(binary, []byte(contents), 0o600); err != nil {
		t.Fatal(err)
	}
	return &campaign{options: options{keep: file, load: l, lasts: lasts}, binary: binary}
}

func TestKeep_GoesOnWhereARunHasEnded(t *testing.T) {
	file, l := filepath.Join(t.TempDir(), "kept"), load{Deployments: 400, Replicas: 50, Others: 5000}
	first := kept(t, file, "a build", l, time.Minute)
	if err := first.resume(); err != nil {
		t.Fatal(err)
	}
	if err := first.add(result{Program: manager, Work: "w", Side: shared, Round: 1}); err != nil {
		t.Fatal(err)
	}
	next := kept(t, file, "a build", l, time.Minute) // in another place, as a build of another day
	if err := next.resume(); err != nil {
		t.Fatal(err)
	}
	if !next.has(manager, "w", shared, 1) || next.has(manager, "w", shared, 0) || next.has(manager, "w", clientGo, 1) {
		t.Errorf("kept: %+v", next.results)
	}
}

func TestKeep_RefusesFiguresOfOtherConditions(t *testing.T) {
	file, l := filepath.Join(t.TempDir(), "kept"), load{Deployments: 400, Replicas: 50, Others: 5000}
	if err := kept(t, file, "a build", l, time.Minute).resume(); err != nil {
		t.Fatal(err)
	}
	fewer := l
	fewer.Others = 10
	for what, c := range map[string]*campaign{
		"another binary":   kept(t, file, "another build", l, time.Minute),
		"another load":     kept(t, file, "a build", fewer, time.Minute),
		"another duration": kept(t, file, "a build", l, time.Second),
	} {
		if err := c.resume(); err == nil || !strings.Contains(err.Error(), "other conditions") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	for what, text := range map[string]string{
		"half a line":       "{",
		"a result, no head": `{"Program":"kube-scheduler","Work":"400 × 50"}` + "\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := kept(t, file, "a build", l, time.Minute).resume(); err == nil ||
			!strings.Contains(err.Error(), "first line") {
			t.Errorf("%s: got %v", what, err)
		}
	}
}
