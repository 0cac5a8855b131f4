package apiserver_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/apiserver"
)

func TestPipeListener_JoinsTwoEndsUntilItIsClosed(t *testing.T) {
	l := apiserver.NewPipeListener()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, _ = conn.Write([]byte("hello"))
			_ = conn.Close()
		}
	}()
	conn, err := l.DialContext(t.Context(), "tcp", "anything:80")
	require.NoError(t, err)
	text := make([]byte, 5)
	_, err = conn.Read(text)
	require.NoError(t, err)
	require.Equal(t, "hello", string(text))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.DialContext(ctx, "", "")
	require.ErrorIs(t, err, context.Canceled, "nobody accepts")
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	_, err = l.DialContext(t.Context(), "", "")
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}
