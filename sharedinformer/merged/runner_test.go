package merged

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// runner has an informer running from Begin to End.
type runner struct {
	cancel context.CancelFunc
	ended  chan struct{}
	err    error // what run returned; there once ended is closed
}

// Begin calls run in a goroutine.
func (r *runner) Begin(run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.ended = cancel, make(chan struct{})
	go func() {
		defer close(r.ended)
		r.err = run(ctx)
	}()
}

// End cancels run and waits for its end, once.
func (r *runner) End(t testing.TB) {
	t.Helper()
	if r.cancel != nil {
		r.cancel()
		r.cancel = nil
		<-r.ended
		require.NoError(t, r.err)
	}
}
