package passon

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/apiserver"
)

func TestStream_OutlivesTheServersLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		front := apiserver.NewPipeListener()
		server := &http.Server{ReadTimeout: time.Second, WriteTimeout: time.Second, Handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				w = Stream(w, r)
				select {
				case <-time.After(time.Minute):
				case <-r.Context().Done():
				}
				_, _ = io.WriteString(w, "still here")
			})}
		done := make(chan error, 1)
		go func() { done <- server.Serve(front) }()
		defer func() { server.Close(); <-done }()
		transport := &http.Transport{DialContext: front.DialContext}
		defer transport.CloseIdleConnections()
		answer, err := (&http.Client{Transport: transport}).Get("http://front/?watch=1")
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, "still here", string(text))
	})
}
