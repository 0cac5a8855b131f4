package sharedinformer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	goruntime "runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	restwatch "k8s.io/client-go/rest/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"glasswatch/listwatch"
	"glasswatch/listwatch/memo"
)

// inOneWatch is how many events a watch of BenchmarkEventOverHTTP has.
const inOneWatch = 20_000

// BenchmarkEventOverHTTP: from the bytes of a watch's answer to the call of a handler, decoding included. A watch is 20,000
// updates of 5,000 small pods, whose bytes are there as fast as they are read, 4 KiB at a time. What is reported is one
// event's part of the watch's time, without the making of the informer and its list, and of all allocations, with them.
func BenchmarkEventOverHTTP(b *testing.B) {
	for _, wire := range []struct{ name, contentType string }{{"json", runtime.ContentTypeJSON}, {"protobuf", runtime.ContentTypeProtobuf}} {
		s := newCannedServer(b, wire.contentType)
		for _, impl := range []string{"glasswatch", "client-go"} {
			b.Run("wire="+wire.name+"/impl="+impl, func(b *testing.B) {
				var took time.Duration
				var before, after goruntime.MemStats
				goruntime.ReadMemStats(&before)
				for b.Loop() {
					took += s.play(b, impl)
				}
				goruntime.ReadMemStats(&after)
				events := float64(b.N) * inOneWatch
				b.ReportMetric(float64(took.Nanoseconds())/events, "ns/op")
				b.ReportMetric(float64(after.Mallocs-before.Mallocs)/events, "allocs/op")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/events, "B/op")
			})
		}
	}
}

// cannedServer answers lists with nothing and each watch with the same bytes.
type cannedServer struct {
	contentType  string
	list, events []byte
	last         string // the version of the last event
}

func newCannedServer(b *testing.B, contentType string) *cannedServer {
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), contentType)
	if !ok {
		b.Fatal(contentType)
	}
	s := &cannedServer{contentType: contentType}
	var events bytes.Buffer
	encoder := restwatch.NewEncoder(streaming.NewEncoder(info.StreamSerializer.Framer.NewFrameWriter(&events), info.StreamSerializer.Serializer), info.Serializer)
	for n := range inOneWatch {
		s.last = fmt.Sprint(100_000 + n)
		pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
		pod.Namespace, pod.Name, pod.UID, pod.ResourceVersion = fmt.Sprint("ns-", n%100), fmt.Sprint("pod-", n%5000), "u", s.last
		pod.Spec.NodeName = fmt.Sprint("node-", n%50)
		if err := encoder.Encode(&watch.Event{Type: watch.Modified, Object: pod}); err != nil {
			b.Fatal(err)
		}
	}
	s.events = events.Bytes()
	list, err := runtime.Encode(info.Serializer, &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"},
	})
	if err != nil {
		b.Fatal(err)
	}
	s.list = list
	return s
}

// play returns how long it took from the answer to the watch to the handler's call with its last event.
func (s *cannedServer) play(b *testing.B, impl string) time.Duration {
	answer, done := make(chan struct{}), make(chan struct{})
	cfg := &rest.Config{Host: "http://canned", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: s.contentType}}
	cfg.Transport = transport(func(r *http.Request) (*http.Response, error) {
		body := io.NopCloser(bytes.NewReader(s.list))
		if r.URL.Query().Has("watch") {
			select {
			case <-answer:
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			body = &packets{bytes.NewReader(s.events), r.Context()}
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {s.contentType}}, Body: body, Request: r}, nil
	})
	w := &world{handlers: []func(*corev1.Pod){func(pod *corev1.Pod) {
		if pod.ResourceVersion == s.last {
			close(done)
		}
	}}}
	defer s.start(b, impl, w, cfg)()
	start := time.Now()
	close(answer)
	<-done
	return time.Since(start)
}

func (s *cannedServer) start(b *testing.B, impl string, w *world, cfg *rest.Config) (end func()) {
	if impl == "glasswatch" {
		client, err := listwatch.NewForConfig[*corev1.Pod](cfg, corev1.SchemeGroupVersion.WithResource("pods"), listwatch.Options{Decoder: memo.New(memo.Options{})})
		if err != nil {
			b.Fatal(err)
		}
		return w.runOurs(b, client, false)
	}
	clientset, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		b.Fatal(err)
	}
	pods := clientset.CoreV1().Pods("")
	return w.runTheirsOn(b, clientgo.NewSharedIndexInformer, &clientgo.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return pods.List(ctx, opts)
		},
		WatchFuncWithContext: pods.Watch,
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// packets hands out 4 KiB at most at a time, and ends with its request.
type packets struct {
	bytes *bytes.Reader
	ctx   context.Context
}

func (p *packets) Read(into []byte) (int, error) {
	n, err := p.bytes.Read(into[:min(len(into), 4096)])
	if err != nil {
		<-p.ctx.Done()
	}
	return n, err
}

func (p *packets) Close() error { return nil }
