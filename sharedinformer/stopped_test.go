package sharedinformer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStopped_TurnsTrueBeforeTheLastCallOfAHandlerReturns(t *testing.T) {
	inVirtualTime(t, Options[*config]{}, func(s *story) {
		s.server.Put("a", "1")
		goOn := make(chan struct{})
		s.Add(HandlerFuncs[*config]{AddFunc: func(*config, bool) { <-goOn }}, HandlerOptions{})
		require.False(s, s.informer.Stopped())
		s.Start()
		require.False(s, s.informer.Stopped())
		s.cancel()
		s.Settle()
		require.True(s, s.informer.Stopped())
		require.False(s, isClosed(s.informer.Done()))
		close(goOn)
		<-s.informer.Done()
	})
}
