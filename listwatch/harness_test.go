package listwatch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	restwatch "k8s.io/client-go/rest/watch"

	"glasswatch/listwatch/wire"
)

const (
	jsonType  = runtime.ContentTypeJSON
	protoType = runtime.ContentTypeProtobuf
)

// protobufPrefix opens every protobuf object.
const protobufPrefix = "k8s\x00"

// Field numbers of lists.
const (
	fieldListMeta  = 1
	fieldListItems = 2
)

// bothTypes are the content types that every story about the wire is told in.
var bothTypes = []string{jsonType, protoType}

var servicesGVR = schema.GroupVersionResource{Version: "v1", Resource: "services"}

// serviceV1 is what a server sends for a service.
func serviceV1(name, resourceVersion string) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: resourceVersion},
		Spec:       corev1.ServiceSpec{ClusterIP: "10.0.0.1", Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
}

func bookmarkV1(resourceVersion string, initialEventsEnd bool) *corev1.Service {
	obj := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}}
	obj.ResourceVersion = resourceVersion
	if initialEventsEnd {
		obj.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return obj
}

func serviceList(resourceVersion string, items ...*corev1.Service) *corev1.ServiceList {
	list := &corev1.ServiceList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"},
		ListMeta: metav1.ListMeta{ResourceVersion: resourceVersion},
	}
	for _, item := range items {
		bare := *item
		bare.TypeMeta = metav1.TypeMeta{} // as servers do
		list.Items = append(list.Items, bare)
	}
	return list
}

func serializerInfo(t testing.TB, contentType string) runtime.SerializerInfo {
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), contentType)
	require.True(t, ok)
	return info
}

// encode writes one object as client-go's encoders, the server's own, do.
func encode(t testing.TB, contentType string, obj runtime.Object) []byte {
	data, err := runtime.Encode(serializerInfo(t, contentType).Serializer, obj)
	require.NoError(t, err)
	return data
}

// encodeEvent writes one frame of a watch, as a server does.
func encodeEvent(t testing.TB, contentType string, typ watch.EventType, obj runtime.Object) []byte {
	var out bytes.Buffer
	info := serializerInfo(t, contentType)
	stream := streaming.NewEncoder(info.StreamSerializer.Framer.NewFrameWriter(&out), info.StreamSerializer.Serializer)
	require.NoError(t, restwatch.NewEncoder(stream, info.Serializer).Encode(&watch.Event{Type: typ, Object: obj}))
	return out.Bytes()
}

// encodeRaw writes one frame whose object is given as bytes.
func encodeRaw(t testing.TB, contentType, typ string, object []byte) []byte {
	if contentType == jsonType {
		return fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", typ, object)
	}
	event := metav1.WatchEvent{Type: typ, Object: runtime.RawExtension{Raw: object}}
	data, err := event.Marshal()
	require.NoError(t, err)
	return lengthPrefixed(data)
}

func lengthPrefixed(data []byte) []byte {
	n := len(data)
	return append([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, data...)
}

// answer is a handler that sends the same body to everyone.
func answer(contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body)
	}
}

// serve starts a server and returns a config for it.
func serve(t testing.TB, handler http.Handler) *rest.Config {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return configFor(t, server)
}

func configFor(t testing.TB, server *httptest.Server) *rest.Config {
	transport := server.Client().Transport
	t.Cleanup(server.Client().CloseIdleConnections)
	return &rest.Config{Host: server.URL, Transport: transport, QPS: -1}
}

func servicesOf(t testing.TB, cfg *rest.Config, opts Options) *Client[*corev1.Service] {
	client, err := NewForConfig[*corev1.Service](cfg, servicesGVR, opts)
	require.NoError(t, err)
	return client
}

// watchServices starts a watch whose frames are body.
func watchServices(t testing.TB, contentType string, body []byte, opts Options) Stream[*corev1.Service] {
	client := servicesOf(t, serve(t, answer(contentType, body)), opts)
	stream, err := client.Watch(context.Background(), metav1.ListOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stream.Close()) })
	return stream
}

// pipeNet connects clients to a server by net.Pipe, so that both live in one synctest bubble.
type pipeNet struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeNet() *pipeNet {
	return &pipeNet{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipeNet) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipeNet) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipeNet) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p *pipeNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// servePipe runs handler in the caller's bubble; stop ends all of it.
func servePipe(handler http.Handler) (cfg *rest.Config, stop func()) {
	network := newPipeNet()
	server := &http.Server{Handler: handler}
	transport := &http.Transport{DialContext: network.dial}
	go func() { _ = server.Serve(network) }()
	return &rest.Config{Host: "http://pipe", Transport: transport, QPS: -1}, func() {
		_ = server.Close()
		transport.CloseIdleConnections()
	}
}

// requests remembers what a server was asked.
type requests struct {
	mu   sync.Mutex // protects seen
	seen []*http.Request
}

func (r *requests) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.seen = append(r.seen, req)
		r.mu.Unlock()
		next.ServeHTTP(w, req)
	})
}

func (r *requests) last() *http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[len(r.seen)-1]
}

func (r *requests) query() url.Values { return r.last().URL.Query() }

// streamOver is a watch whose bytes come from a reader.
func streamOver[T Object](ctx context.Context, format wire.Format, codec *codec[T], from io.Reader) *puller[T] {
	ctx, cancel := context.WithCancelCause(ctx)
	return &puller[T]{
		source:   &httpSource[T]{wire.NewReader(from, format, fuzzLimit), format, codec},
		maxBatch: maxBatch, ctx: ctx, cancel: cancel, release: func() {},
	}
}

// chunks delivers a stream in pieces of given sizes, as a network may.
type chunks struct {
	data  []byte
	sizes []int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := min(len(p), len(c.data), c.sizes[0])
	c.sizes = append(c.sizes[1:], c.sizes[0])
	copy(p, c.data[:n])
	c.data = c.data[n:]
	return n, nil
}
