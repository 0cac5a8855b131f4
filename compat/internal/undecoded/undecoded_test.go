package undecoded

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer is a server.
type answer struct {
	code        int
	contentType string
	encoding    string
	body        io.Reader
	err         error
	closed      bool
	whenClosed  func()
}

const protobuf = "application/vnd.kubernetes.protobuf"

func (a *answer) RoundTrip(*http.Request) (*http.Response, error) {
	if a.err != nil {
		return nil, a.err
	}
	header := http.Header{"Content-Type": {a.contentType}}
	if a.encoding != "" {
		header.Set("Content-Encoding", a.encoding)
	}
	return &http.Response{StatusCode: a.code, Header: header, Body: a}, nil
}
func (a *answer) Read(p []byte) (int, error) { return a.body.Read(p) }
func (a *answer) Close() error {
	if a.closed = true; a.whenClosed != nil {
		a.whenClosed()
	}
	return nil
}

// send returns what the sender of a request gets, and what the offer in its context gets.
func send(t *testing.T, a *answer, method string) (sender *http.Response, offer *Offer, taken bool, err error) {
	t.Helper()
	ctx, offer := With(t.Context(), func() { taken = true })
	req, err := http.NewRequestWithContext(ctx, method, "http://server/api/v1/pods", nil)
	require.NoError(t, err)
	sender, err = Transport(a).RoundTrip(req)
	return sender, offer, taken, err
}

func TestTransport_GivesTheAnswerToTheOffer(t *testing.T) {
	a := &answer{code: 200, contentType: protobuf + ";stream=watch", body: strings.NewReader("pods")}
	sender, offer, taken, err := send(t, a, http.MethodGet)
	require.NoError(t, err)
	require.True(t, taken)
	require.Equal(t, 200, sender.StatusCode)
	require.Equal(t, offer.Answer().Header, sender.Header)
	sender.Header.Set("Warning", "the sender's")
	require.Empty(t, offer.Answer().Header.Get("Warning"), "each has its own")
	read, err := io.ReadAll(offer.Answer().Body)
	require.NoError(t, err)
	require.Equal(t, "pods", string(read))
	read, err = io.ReadAll(sender.Body) // not before the other one has ended
	require.NoError(t, err)
	require.Empty(t, read)
	require.NoError(t, offer.Answer().Body.Close())
	require.True(t, a.closed)
}

func TestTransport_LeavesOtherAnswersToTheSender(t *testing.T) {
	for name, c := range map[string]struct {
		answer answer
		method string
	}{
		"JSON":           {answer{code: 200, contentType: "application/json"}, http.MethodGet},
		"no type":        {answer{code: 200, contentType: ""}, http.MethodGet},
		"HTML":           {answer{code: 200, contentType: "text/html; charset=utf-8"}, http.MethodGet},
		"metadata":       {answer{code: 200, contentType: protobuf + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}, http.MethodGet},
		"a refusal":      {answer{code: 403, contentType: protobuf}, http.MethodGet},
		"a busy server":  {answer{code: 429, contentType: protobuf}, http.MethodGet},
		"another method": {answer{code: 200, contentType: protobuf}, http.MethodPost},
		"packed":         {answer{code: 200, contentType: protobuf, encoding: "gzip"}, http.MethodGet},
	} {
		t.Run(name, func(t *testing.T) {
			c.answer.body = strings.NewReader("pods")
			sender, offer, taken, err := send(t, &c.answer, c.method)
			require.NoError(t, err)
			require.False(t, taken)
			require.Nil(t, offer.Answer())
			require.Same(t, &c.answer, sender.Body)
		})
	}
	_, offer, _, err := send(t, &answer{err: errors.New("cable cut")}, http.MethodGet)
	require.EqualError(t, err, "cable cut")
	require.Nil(t, offer.Answer())
}

func TestTransport_WithoutAnOfferChangesNothing(t *testing.T) {
	a := &answer{code: 200, contentType: protobuf, body: strings.NewReader("pods")}
	transport := Transport(a)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server", nil)
	require.NoError(t, err)
	sender, err := transport.RoundTrip(req)
	require.NoError(t, err)
	require.Same(t, a, sender.Body)
	require.Same(t, a, transport.(utilnet.RoundTripperWrapper).WrappedRoundTripper())
	require.Same(t, http.DefaultTransport, Transport(nil).(utilnet.RoundTripperWrapper).WrappedRoundTripper())
}

// idle is a transport with connections, below one that shows itself in client-go's way only.
type idle struct {
	http.RoundTripper
	closed int
}

func (i *idle) CloseIdleConnections() { i.closed++ }

type wrapper struct{ http.RoundTripper }

func (w wrapper) WrappedRoundTripper() http.RoundTripper { return w.RoundTripper }

func TestTransport_ClosesIdleConnectionsBelowOtherWrappers(t *testing.T) {
	connections := &idle{}
	utilnet.CloseIdleConnectionsFor(Transport(wrapper{connections}))
	(&http.Client{Transport: Transport(wrapper{connections})}).CloseIdleConnections()
	require.Equal(t, 2, connections.closed)
}

// A closure that sends a second request, such as one for another page, gets that answer itself.
func TestTransport_AnOfferTakesOneAnswer(t *testing.T) {
	a := &answer{code: 200, contentType: protobuf, body: strings.NewReader("pods")}
	ctx, offer := With(t.Context(), func() {})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server", nil)
	require.NoError(t, err)
	_, err = Transport(a).RoundTrip(req)
	require.NoError(t, err)
	first := offer.Answer()
	second, err := Transport(a).RoundTrip(req)
	require.NoError(t, err)
	require.Same(t, a, second.Body)
	require.Same(t, first, offer.Answer())
	require.NoError(t, first.Body.Close())
}

// hanging is a body that ends only when it is closed.
type hanging chan struct{}

func (h hanging) Read([]byte) (int, error) {
	<-h
	return 0, errors.New("torn by somebody")
}

func TestTransport_BothBodiesEndTogether(t *testing.T) {
	for name, end := range map[string]func(cancel func(), sender, offered io.Closer){
		"when the offered one is closed":  func(_ func(), _, offered io.Closer) { _ = offered.Close() },
		"when the sender's one is closed": func(_ func(), sender, _ io.Closer) { _ = sender.Close() },
		"when the request is cancelled":   func(cancel func(), _, _ io.Closer) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ctx, offer := With(ctx, func() {})
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server", nil)
				require.NoError(t, err)
				torn := make(hanging)
				a := &answer{code: 200, contentType: protobuf, body: torn, whenClosed: sync.OnceFunc(func() { close(torn) })}
				sender, err := Transport(a).RoundTrip(req)
				require.NoError(t, err)
				ended := make(chan error, 1)
				go func() {
					_, err := sender.Body.Read(nil)
					ended <- err
				}()
				synctest.Wait()
				require.Empty(t, ended)
				read := make(chan error, 1)
				go func() {
					_, err := offer.Answer().Body.Read(make([]byte, 1))
					read <- err
				}()
				synctest.Wait()
				end(cancel, sender.Body, offer.Answer().Body)
				require.Equal(t, io.EOF, <-ended)
				require.NoError(t, offer.Answer().Body.Close())
				require.EqualError(t, <-read, "torn by somebody")
			})
		})
	}
}

func TestTransport_AnswersThatEndAtTheDeadlineSaySo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ctx, offer := With(ctx, func() {})
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server", nil)
		require.NoError(t, err)
		torn := make(hanging)
		_, err = Transport(&answer{code: 200, contentType: protobuf, body: torn}).RoundTrip(req)
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() { close(torn) })
		_, err = offer.Answer().Body.Read(make([]byte, 1))
		require.Equal(t, context.DeadlineExceeded, err)
	})
}
