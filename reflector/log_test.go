package reflector

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
)

// What client-go's reflector says in the same story, at the same levels.
func TestLog_SaysWhatClientGosReflectorSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, Options{Name: "services"}, false)
		h.r.opts.OnTransition = nil
		var mu sync.Mutex
		var lines []string
		logger := funcr.NewJSON(func(line string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, line)
		}, funcr.Options{Verbosity: 4, RenderBuiltinsHook: func(kv []any) []any { return kv[2:] }})
		run := h.run
		h.run = func(ctx context.Context) { run(klog.NewContext(ctx, logger)) }
		said := func() []string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			was := lines
			lines = nil
			return was
		}
		says := func(level int, message string) string {
			return fmt.Sprintf(`{"level":%d,"msg":%q,"reflector":"services"}`, level, message)
		}
		defer h.Stop()
		h.Put("a")
		h.Start()
		require.Equal(t, []string{
			says(3, "Starting reflector"), says(3, "Listing and watching"), says(2, "Caches populated"),
		}, said())
		h.BreakWatch(io.EOF)
		require.Equal(t, []string{says(4, "Watch closed")}, said())
		h.Pass(time.Minute)
		h.Stop()
		require.Equal(t, []string{says(3, "Stopping reflector")}, said())
	})
}
