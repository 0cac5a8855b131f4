package listwatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// resettingServer answers the first request on HTTP/2 with one event of a watch, and then does what end says.
func resettingServer(t *testing.T, event []byte, end func(framer *http2.Framer, stream uint32) error) *rest.Config {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- serveOneStream(t.Context(), listener, event, end) }()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		require.NoError(t, listener.Close())
		require.NoError(t, <-served)
	})
	return &rest.Config{Host: "http://" + listener.Addr().String(), Transport: transport, QPS: -1}
}

func serveOneStream(ctx context.Context, listener net.Listener, event []byte, end func(*http2.Framer, uint32) error) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	// When the test is over the client may still hold the connection: it is not idle yet.
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return err
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		return err
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return nil // the client has gone
		}
		if frame.Header().Type != http2.FrameHeaders {
			continue
		}
		var headers bytes.Buffer
		encoder := hpack.NewEncoder(&headers)
		_ = encoder.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		_ = encoder.WriteField(hpack.HeaderField{Name: "content-type", Value: jsonType})
		stream := frame.Header().StreamID
		answer := http2.HeadersFrameParam{StreamID: stream, BlockFragment: headers.Bytes(), EndHeaders: true}
		if err := errors.Join(framer.WriteHeaders(answer), framer.WriteData(stream, false, event)); err != nil {
			return err
		}
		if err := end(framer, stream); err != nil {
			return err
		}
	}
}

// A proxy or a server that shuts down resets streams. That is no statement about the resource: the watch can resume from
// the last event. So it is neither a StatusError, nor one bad object, nor a clean end.
func TestStream_AResetHTTP2StreamIsABrokenStreamAndNoServerError(t *testing.T) {
	event := encodeEvent(t, jsonType, watch.Added, serviceV1("cart", "5"))
	reset := func(code http2.ErrCode) func(*http2.Framer, uint32) error {
		return func(f *http2.Framer, stream uint32) error { return f.WriteRSTStream(stream, code) }
	}
	for name, end := range map[string]func(*http2.Framer, uint32) error{
		"REFUSED_STREAM": reset(http2.ErrCodeRefusedStream),
		"NO_ERROR":       reset(http2.ErrCodeNo),
		"INTERNAL_ERROR": reset(http2.ErrCodeInternal),
		"GOAWAY":         func(f *http2.Framer, _ uint32) error { return f.WriteGoAway(0, http2.ErrCodeNo, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			client := servicesOf(t, resettingServer(t, event, end), Options{})
			stream, err := client.Watch(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			defer stream.Close()
			ev, err := stream.Next()
			require.NoError(t, err)
			require.Equal(t, "5", ev.ResourceVersion)
			_, err = stream.Next()
			require.Error(t, err)
			_, isStatus := errors.AsType[*apierrors.StatusError](err)
			require.False(t, isStatus, "%v", err)
			_, costsOne := errors.AsType[*ObjectError](err)
			require.False(t, costsOne, "%v", err)
			require.NotErrorIs(t, err, io.EOF)
			require.NotErrorIs(t, err, ErrClosed)
			require.ErrorContains(t, err, "watch stream broke between two frames", fmt.Sprint(name))
		})
	}
}
