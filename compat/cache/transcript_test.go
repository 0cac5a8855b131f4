package cache

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// transcript is what a story saw of one of the two packages: what it wrote down itself, and the calls of a handler, which has
// a goroutine of its own.
type transcript struct {
	diary
	machinery
	storage storage
	server  *village
	events  diary
}

// stories are told with each package; what they see must be the same.
type stories map[string]func(t *testing.T, c *transcript)

func (s stories) compare(t *testing.T) {
	t.Helper()
	for name, tell := range s {
		t.Run(name, func(t *testing.T) { sameTranscript(t, tell) })
	}
}

// sameTranscript tells a story with each package, in virtual time, and compares what it saw.
func sameTranscript(t *testing.T, tell func(t *testing.T, c *transcript)) {
	t.Helper()
	theirs := transcriptOf(t, theirMachinery, clientGoStorage, tell)
	ours := transcriptOf(t, ourMachinery, ourStorage, tell)
	require.NotEmpty(t, theirs, "the story saw nothing")
	require.Equal(t, strings.Join(theirs, "\n"), strings.Join(ours, "\n"))
}

func transcriptOf(t *testing.T, m machinery, s storage, tell func(t *testing.T, c *transcript)) (lines []string) {
	t.Helper()
	t.Run("impl="+m.name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &transcript{machinery: m, storage: s, server: newVillage()}
			tell(t, c)
			synctest.Wait()
			lines = slices.Concat(c.copied(), ordered(c.events.copied()))
		})
	})
	return lines
}

func (d *diary) copied() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.entries)
}

// ordered sorts what a list led to: client-go calls handlers in the order of a map.
func ordered(lines []string) []string {
	lines = slices.Clone(lines)
	for i := 0; i < len(lines); {
		end, seen := i+1, map[string]bool{subject(lines[i]): true}
		for end < len(lines) && !seen[subject(lines[end])] && verb(lines[end]) == verb(lines[i]) {
			seen[subject(lines[end])] = true
			end++
		}
		slices.Sort(lines[i:end])
		i = end
	}
	return lines
}

func verb(line string) string    { return strings.SplitN(line, " ", 2)[0] }
func subject(line string) string { return strings.SplitN(line, "@", 2)[0] }

// try writes down what f returns, or its panic.
func (c *transcript) try(what string, f func() any) {
	defer func() {
		if p := recover(); p != nil {
			c.write("%s: panic: %v", what, p)
		}
	}()
	c.write("%s: %v", what, f())
}

// informer is not run yet. Its handler and its watch-error handler write.
func (c *transcript) informer(t *testing.T, lw ListerWatcher) SharedIndexInformer {
	t.Helper()
	informer := c.shared(lw, &corev1.ConfigMap{}, plain())
	_, err := informer.AddEventHandler(&c.events)
	require.NoError(t, err)
	require.NoError(t, informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *Reflector, err error) {
		c.write("error: %s", withoutTimeouts(err.Error()))
	}))
	return informer
}

// Informers choose the timeouts of their watches at random.
var timeouts = regexp.MustCompile(`timeout(Seconds)?=[0-9hms]+&?`)

func withoutTimeouts(s string) string { return timeouts.ReplaceAllString(s, "") }

// state is what a program can ask an informer for.
func (c *transcript) state(informer SharedIndexInformer) {
	c.write("synced %v, stopped %v, version %q, store's %q, keys %v", informer.HasSynced(), informer.IsStopped(),
		informer.LastSyncResourceVersion(), informer.GetStore().LastStoreSyncResourceVersion(),
		sorted(informer.GetStore().ListKeys()))
}

// noted writes down each request before it is answered, and whether it came at once after the one before it.
func (c *transcript) noted(lw *ListWatch) *ListWatch {
	last := time.Now()
	note := func(what string, opts metav1.ListOptions) {
		when := "at once"
		if time.Since(last) > 0 {
			when = "later"
		}
		last = time.Now()
		initial := ""
		if opts.SendInitialEvents != nil {
			initial = fmt.Sprintf(", initial events %v", *opts.SendInitialEvents)
		}
		c.write("%s, %s from %q, match %q, limit %d, continue %q%s", when, what, opts.ResourceVersion,
			opts.ResourceVersionMatch, opts.Limit, opts.Continue, initial)
	}
	return &ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			note("list", opts)
			return lw.ListWithContext(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			note("watch", opts)
			return lw.WatchWithContext(ctx, opts)
		},
	}
}

// paged marks lw as unable to stream lists, as fake clientsets are.
func paged(lw *ListWatch) ListerWatcher { return &semanticListWatch{ListWatch: lw, unsupported: true} }
