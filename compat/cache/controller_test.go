package cache

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// A panic of a handler must end the program, with its stack, and not wait for a watch to end. Here the caller of Run
// recovers it.
func TestController_APanicReachesItsCaller(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		s.Put("a")
		_, controller := m.simple(InformerOptions{
			ListerWatcher: s, ObjectType: &corev1.ConfigMap{}, ResyncPeriod: time.Minute,
			Handler: ResourceEventHandlerFuncs{AddFunc: func(any) { panic("just a panic") }},
		})
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		reached := make(chan any, 1)
		go func() {
			defer func() { reached <- recover() }()
			controller.RunWithContext(ctx)
		}()
		synctest.Wait()
		select {
		case p := <-reached:
			require.Equal(t, "just a panic", p)
		default:
			require.Fail(t, "the panic waits for the watch")
		}
		cancel()
		synctest.Wait()
	})
}
