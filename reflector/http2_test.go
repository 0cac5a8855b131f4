package reflector

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	"glasswatch/listwatch"
)

// http2Proxy passes the frames of HTTP/2 from the server to a client, and puts in some of its own.
type http2Proxy struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu     sync.Mutex
	stream uint32   // the newest stream that the server answered
	client net.Conn // its connection, from the server's side; net/http may dial a later one for nothing
}

func (p *http2Proxy) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	server, err := p.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	closeBoth := func() { _ = near.Close(); _ = server.Close() }
	go func() { defer closeBoth(); _, _ = io.Copy(server, near) }()
	go func() { defer closeBoth(); p.passFrames(near, server) }()
	return far, nil
}

const headersFrame, resetFrame, goAwayFrame = 0x1, 0x3, 0x7

func (p *http2Proxy) passFrames(to net.Conn, from io.Reader) {
	for {
		frame := make([]byte, 9)
		if _, err := io.ReadFull(from, frame); err != nil {
			return
		}
		payload := make([]byte, int(frame[0])<<16|int(frame[1])<<8|int(frame[2]))
		if _, err := io.ReadFull(from, payload); err != nil {
			return
		}
		p.mu.Lock()
		if frame[3] == headersFrame {
			p.stream, p.client = binary.BigEndian.Uint32(frame[5:]), to
		}
		_, err := to.Write(append(frame, payload...))
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// reset ends the newest stream with a RST_STREAM frame.
func (p *http2Proxy) reset(code uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(resetFrame, p.stream, code)
}

// goAway says that the server has seen no stream at all, and closes the connection.
func (p *http2Proxy) goAway() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(goAwayFrame, 0, p.stream, uint32(http2.ErrCodeNo))
	_ = p.client.Close()
}

func (p *http2Proxy) send(typ byte, stream uint32, payload ...uint32) {
	frame := binary.BigEndian.AppendUint32([]byte{0, 0, byte(4 * len(payload)), typ, 0}, stream)
	for _, word := range payload {
		frame = binary.BigEndian.AppendUint32(frame, word)
	}
	_, _ = p.client.Write(frame)
}

// transports are the two implementations of HTTP/2: client-go uses that of x/net where it sets up the transport itself.
var transports = map[string]func(p *http2Proxy) http.RoundTripper{
	"x/net": func(p *http2Proxy) http.RoundTripper {
		dial := func(ctx context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
			return p.DialContext(ctx, network, address)
		}
		//lint:ignore SA1019 client-go still uses it, so its errors are what a watch meets.
		return &http2.Transport{AllowHTTP: true, DialTLSContext: dial}
	},
	"net/http": func(p *http2Proxy) http.RoundTripper {
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		return &http.Transport{DialContext: p.DialContext, Protocols: protocols}
	},
}

func TestWatch_AResetHTTP2StreamIsResumedWithBackoffAndWithoutAList(t *testing.T) {
	resets := map[string]func(p *http2Proxy){
		"REFUSED_STREAM": func(p *http2Proxy) { p.reset(uint32(http2.ErrCodeRefusedStream)) },
		"NO_ERROR":       func(p *http2Proxy) { p.reset(uint32(http2.ErrCodeNo)) },
		"INTERNAL_ERROR": func(p *http2Proxy) { p.reset(uint32(http2.ErrCodeInternal)) },
		"GOAWAY":         (*http2Proxy).goAway,
	}
	for name, reset := range resets {
		for kind, transport := range transports {
			for _, young := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " ", kind, " young=", young), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { resumeAfter(t, reset, transport, young) })
				})
			}
		}
	}
}

// resumeAfter resets a watch. A young one has brought nothing, and is less than a second old.
func resumeAfter(t *testing.T, reset func(p *http2Proxy), transport func(p *http2Proxy) http.RoundTripper, young bool) {
	server := apiservertest.Start(t, apiserver.Options{})
	put := func(name string) {
		server.Put(name, "")
		synctest.Wait()
	}
	proxy := &http2Proxy{dial: server.Config.Dial}
	config := &rest.Config{Host: server.Config.Host, Transport: transport(proxy), QPS: -1}
	lw, err := listwatch.NewMetadata(config, corev1.SchemeGroupVersion.WithResource("configmaps"), listwatch.Options{})
	require.NoError(t, err)

	var states []State
	var errs []error
	sink := newRecorder()
	r := New(lw, sink, Options{
		DisableStreamingList: true,
		Backoff:              Backoff{Base: 10 * time.Second, Jitter: -1},
		OnTransition:         func(_, to State) { states = append(states, to) },
		OnError:              func(_ context.Context, err error) { errs = append(errs, err) },
	})
	put("a")
	apiservertest.Go(t, func(ctx context.Context) error { r.Run(ctx); return nil })
	synctest.Wait()
	if !young {
		<-time.After(time.Minute)
		put("b")
	}
	version := r.LastSyncResourceVersion()
	for range 2 { // the first wait is 10 seconds, the second 20
		states = nil
		reset(proxy)
		<-time.After(9 * time.Second)
		synctest.Wait()
		require.Equal(t, []State{BackingOff}, states, "%v", errs)
		require.Equal(t, version, r.LastSyncResourceVersion())
		<-time.After(12 * time.Second)
		synctest.Wait()
		require.Equal(t, []State{BackingOff, Connecting, Watching}, states)
	}
	put("c")
	require.Len(t, errs, 2)
	require.Contains(t, sink.diary[len(sink.diary)-1], "Add c@")
	require.Equal(t, uint64(1), r.Stats().PagedLists)
}
