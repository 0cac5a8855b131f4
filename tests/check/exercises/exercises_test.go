// Package exercises shows that each exercise of tests/exercises is red when its function is blank or wrong, and green with the project's
// own code, and that `go run ./tests/exercises/start` loses nothing.
package exercises

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/tests/exercises"
)

const root = "../../.."

// patience is how long the tests of an exercise may take with a wrong answer in it.
const patience = time.Minute

// tempting are answers that look right, by the number of the exercise.
var tempting = map[string][]string{
	"01": {
		// Two deletions in a row are two.
		`p := f.items[d.Key]
if p == nil {
	p = f.newEntryLocked(d.Key)
}
p.deltas = append(p.deltas, d)`,
		// Of two deletions in a row the newer stays, whatever it knows.
		`p := f.items[d.Key]
if p == nil {
	p = f.newEntryLocked(d.Key)
}
if n := len(p.deltas); n > 0 && d.Type == Deleted && p.deltas[n-1].Type == Deleted {
	p.deltas[n-1] = d
	return
}
p.deltas = append(p.deltas, d)`,
	},
	"02": {
		// What is queued gets a second tombstone, and what is queued only gets none.
		`for _, key := range f.opts.Known.ListKeys() {
	if _, ok := listed[key]; !ok {
		f.appendLocked(f.tombstoneLocked(key))
	}
}`,
	},
	"03": {
		// Only the first value counts.
		`old := ix.filed.at(slot)
for _, s := range old {
	s.slots.delete(slot)
	if len(s.slots.entries) == 0 {
		ix.sets.delete(s.value)
	}
}
sets = sets[:min(1, len(sets))]
for _, s := range sets {
	s.slots.put(slot, struct{}{})
}
ix.filed.set(slot, sets)`,
		// Nobody remembers where it is, so nobody can take it out again.
		`for _, s := range sets {
	s.slots.put(slot, struct{}{})
}`,
	},
	"04": {
		// The writer writes into what is shared.
		`return &t.chunks[slot/chunkLen]`,
		// The writer copies its own entries again and again.
		`c := &t.chunks[slot/chunkLen]
c.entries = append(make([]E, 0, cap(c.entries)), c.entries...)
c.shared = false
return c`,
	},
	"05": {
		// The informer writes into what the handler reads.
		`b.mu.Lock()
defer b.mu.Unlock()
for len(b.waiting) == 0 && !b.nothingComes {
	b.wake.Wait()
}
if len(b.waiting) == 0 {
	return nil
}
batch := b.waiting
b.waiting = b.waiting[:0]
b.callsLeft = len(batch)
return batch`,
	},
	"06": {
		// What came meanwhile is lost.
		`q.mu.Lock()
defer q.unlockAndTellMetrics()
e := q.entries[item]
if e == nil || e.state != processing && e.state != processingDirty {
	return
}
q.processing.remove(e)
e.state = idle
q.releaseLocked(e)
if q.shuttingDown && q.processing.len == 0 {
	q.drains.Broadcast()
}`,
		// A drain is not told.
		`q.mu.Lock()
defer q.unlockAndTellMetrics()
e := q.entries[item]
if e == nil || e.state != processing && e.state != processingDirty {
	return
}
q.processing.remove(e)
if e.state == processingDirty {
	q.putInWaitingLocked(e)
} else {
	e.state = idle
	q.releaseLocked(e)
}`,
	},
	"07": {
		// It never begins anew.
		`if t.grown == 0 {
	t.grown = t.Base
}
wait := min(t.grown, t.Max)
t.grown = atMost(t.Max, float64(wait)*t.Factor)
wait = atMost(math.MaxInt64, float64(wait)*(1+rand.Float64()*t.Jitter))
return max(wait, atLeast)`,
		// It does not grow.
		`return max(t.Base, atLeast)`,
	},
	"08": {
		// A typing error costs the Service its Ingress.
		`svc, found := l.services.GetByKey(l.key)
if !found {
	return none, nil
}
l.svc, l.mem = svc, l.memories.of(l.key, svc.UID)
l.ing, _ = l.ingresses.GetByKey(l.key)
d, wanted, err := l.decide()
if err != nil || !wanted {
	return l.ensureNone(ctx)
}
return l.ensure(ctx, d)`,
	},
}

func TestExercises_EachIsRedWhenBlankOrWrongAndGreenWithTheProjectsOwnCode(t *testing.T) {
	for _, e := range exercises.All {
		t.Run(e.Folder, func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.File)))
			require.NoError(t, err)
			text := string(raw)
			out, err := try(t, e, text)
			require.NoError(t, err, "red with the project's own code:\n%s", out)

			blank, _, err := e.With([]byte(text), e.Blank())
			require.NoError(t, err)
			out, err = try(t, e, string(blank))
			require.Error(t, err, "green although the function is blank")
			require.Contains(t, out, "is blank: see tests/exercises/"+e.Folder+"/README.md")

			require.NotEmpty(t, tempting[e.Number()])
			for _, answer := range tempting[e.Number()] {
				wrong, _, err := e.With([]byte(text), answer)
				require.NoError(t, err)
				out, err = try(t, e, string(wrong))
				require.Error(t, err, "green with\n%s", answer)
				require.Contains(t, out, "Error Trace:", "no assertion says what is wrong with\n%s\nbut:\n%s", answer, out)
			}
		})
	}
}

// try runs the tests of an exercise over another text of its file.
func try(t *testing.T, e exercises.Exercise, text string) (output string, err error) {
	t.Helper()
	dir := t.TempDir()
	changed := filepath.Join(dir, path.Base(e.File))
	require.NoError(t, os.WriteFile(changed, []byte(text), 0o600))
	original, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(e.File)))
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	require.NoError(t, err)
	overlayFile := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, overlay, 0o600))
	binary := filepath.Join(dir, "exercise.test.exe")
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlayFile, "-o", binary, "./tests/exercises/"+e.Folder)
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoError(t, err, "it does not compile:\n%s", out)

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := exec.CommandContext(ctx, binary)
	run.Dir = filepath.Join(root, "tests", "exercises", e.Folder)
	out, err = run.CombinedOutput()
	require.NoError(t, ctx.Err(), "it hangs:\n%s", out)
	if _, failed := errors.AsType[*exec.ExitError](err); !failed {
		require.NoError(t, err)
	}
	return string(out), err
}
