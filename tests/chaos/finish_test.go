package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
)

var silent = log.New(io.Discard, "", 0)

// patience is how long it may take in virtual time, once faults are over, until all is well. The longest wait is a backoff of
// a minute; one more may follow if the first finds what it has to list again.
const patience = 3 * time.Minute

// calmDown ends all faults.
func (w *world) calmDown() {
	w.proxy.Clear()
	select {
	case <-w.calm:
	default:
		close(w.calm)
	}
	if w.run == nil {
		return
	}
	for _, h := range w.run.handlers {
		h.behave()
	}
}

// finish wants all to be well.
func (w *world) finish() error {
	w.calmDown()
	if err := w.disk.free(); err != nil {
		return err
	}
	if err := w.settle(w.patience); err != nil {
		return fmt.Errorf("%v after the last fault: %w", w.patience, err)
	}
	if w.restores.Load() > w.run.since { // the file may be of a lost time; the writes below bring another one
		if err := w.disk.forget(); err != nil {
			return err
		}
	}
	// It may be well by chance, and deaf.
	key := listwatch.Key{Namespace: "default", Name: "after"}
	for _, what := range []what{create, update, remove} {
		if err := w.write(what, key); err != nil {
			return err
		}
		limit := 10 * time.Second
		if what == create {
			limit = w.patience // it may have been well by chance, with the informer in a wait
		}
		if err := w.settle(limit); err != nil {
			return fmt.Errorf("%s after all was well: %w", what, err)
		}
	}
	return w.reload()
}

// reload starts an informer from the checkpoint, on a server that has not changed meanwhile.
func (w *world) reload() error {
	if !w.s.checkpoint {
		return nil
	}
	leftOut := w.run.Stats().ObjectErrors > 0 // then nothing more is written in this run
	w.halt()
	if err := w.start(); err != nil {
		return err
	}
	if err := w.settle(w.patience); err != nil {
		return fmt.Errorf("from the checkpoint: %w", err)
	}
	switch {
	case w.run.Checkpoint().Resumed != "":
		w.all.resumed.Add(1)
	case !leftOut:
		return errors.New("the checkpoint is of no use, although the disk is free")
	}
	return nil
}

// settle waits until all is well, and returns what is not when the time is up.
func (w *world) settle(limit time.Duration) error { return w.await(limit, w.isWell) }

// look wants the store to become the server's in the middle of a schedule, before what comes later can make good what went
// wrong. Handlers may stall meanwhile, and disks be full.
func (w *world) look() error {
	w.proxy.Suspend(true)
	defer w.proxy.Suspend(false)
	return w.await(w.patience, func() error {
		_, err := w.storeIsWell()
		return err
	})
}

func (w *world) await(limit time.Duration, isWell func() error) error {
	for deadline := time.Now().Add(limit); ; {
		w.settled()
		err := isWell()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-time.After(time.Second / w.pace)
	}
}

// storeIsWell compares the store with the server, and returns it.
func (w *world) storeIsWell() (map[listwatch.Key]state, error) {
	truth, err := w.truth()
	if err != nil {
		return nil, err
	}
	if !w.run.HasSynced() {
		return nil, fmt.Errorf("not synced: %v", w.run.LastError())
	}
	stored := w.run.Store()
	if err := differ("the store", stored, "the server", truth); err != nil {
		return nil, fmt.Errorf("%w (last error: %v)", err, w.run.LastError())
	}
	return stored, nil
}

// isWell compares server, store and handlers, and looks for what waits somewhere.
func (w *world) isWell() error {
	stored, err := w.storeIsWell()
	if err != nil {
		return err
	}
	if n := w.run.Stats().QueueDepth; n > 0 {
		return fmt.Errorf("%d changes are still in the queue", n)
	}
	for _, h := range w.run.handlers {
		if err := differ("handler "+h.name, h.known(), "the store", stored); err != nil {
			return err
		}
		switch {
		case !h.registration.HasSynced():
			return fmt.Errorf("handler %s has not synced", h.name)
		case h.Stats().Depth != 0:
			return fmt.Errorf("%d changes still wait for handler %s", h.Stats().Depth, h.name)
		}
	}
	return nil
}

// truth is what the server has, seen past the proxy.
func (w *world) truth() (map[listwatch.Key]state, error) {
	list, err := w.direct.CoreV1().ConfigMaps(w.scope).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := map[listwatch.Key]state{}
	for i := range list.Items {
		all[listwatch.KeyOf(&list.Items[i])] = stateOf(&list.Items[i])
	}
	return all, nil
}

// differ says where a is not as b.
func differ(aName string, a map[listwatch.Key]state, bName string, b map[listwatch.Key]state) error {
	if maps.Equal(a, b) {
		return nil
	}
	var lines []string
	for key := range a {
		if _, ok := b[key]; !ok {
			lines = append(lines, fmt.Sprintf("%s: %s has %s, %s nothing", key, aName, a[key], bName))
		}
	}
	for key := range b {
		if have, ok := a[key]; !ok {
			lines = append(lines, fmt.Sprintf("%s: %s has nothing, %s %s", key, aName, bName, b[key]))
		} else if have != b[key] {
			lines = append(lines, fmt.Sprintf("%s: %s has %s, %s %s", key, aName, have, bName, b[key]))
		}
	}
	slices.Sort(lines)
	return errors.New(strings.Join(lines, "; "))
}

// alone wants nobody else to be left in the bubble.
func (w *world) alone() error {
	if w.server == nil {
		return nil
	}
	w.settled()
	if left := goroutines(""); left != "" {
		return fmt.Errorf("a goroutine is left:\n%s", left)
	}
	return nil
}

// goroutines returns the first goroutine of this bubble that is in one of these packages, but the one that asks, and the one
// that has made the bubble.
func goroutines(packages ...string) string {
	own := stacks(false)
	for _, stack := range strings.Split(stacks(true), "\n\n") {
		if bubbleOf(stack) != bubbleOf(own) || goroutineOf(stack) == goroutineOf(own) || strings.Contains(stack, "\ntesting/synctest.") {
			continue
		}
		for _, p := range packages {
			if strings.Contains(stack, p) {
				return stack
			}
		}
	}
	return ""
}

func stacks(all bool) string {
	for buf := make([]byte, 1<<20); ; buf = make([]byte, 2*len(buf)) {
		if n := runtime.Stack(buf, all); n < len(buf) {
			return string(bytes.TrimSpace(buf[:n]))
		}
	}
}

// bubbleOf is "synctest bubble 7" in "goroutine 12 [select, synctest bubble 7]:".
func bubbleOf(stack string) string {
	head, _, _ := strings.Cut(stack, "\n")
	_, bubble, _ := strings.Cut(head, "synctest bubble ")
	bubble, _, _ = strings.Cut(bubble, "]")
	bubble, _, _ = strings.Cut(bubble, ",")
	return bubble
}

func goroutineOf(stack string) string {
	id, _, _ := strings.Cut(stack, " [")
	return id
}
