//go:build unix

package lens

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/rest"
	restwatch "k8s.io/client-go/rest/watch"
	"k8s.io/client-go/tools/record"

	"glasswatch/controller"
	"glasswatch/controller/ingress"
	"glasswatch/indexer"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/lens/look"
	"glasswatch/listwatch"
	"glasswatch/listwatch/memo"
	"glasswatch/observe"
	"glasswatch/sharedinformer"
)

// BenchmarkEventLookedAt measures what looking on costs a pipeline: listwatch, reflector, queue, store with two
// indices, two handlers, workqueue, and the ingress controller's reconciler with one worker. One op is one change of
// one of 1,000 Services, from its frame until its key was reconciled.
//
//	from=frames   the frames lie there, and are read 4 KiB at a time
//	from=server   the API server in memory makes the changes and sends them, as in cmd/lens
//
//	impl=none     no layer has an observer
//	impl=hub      each has one, and nobody reads
//	impl=reader   beside that, an HTTP client reads the stream
func BenchmarkEventLookedAt(b *testing.B) {
	for _, from := range []struct {
		name string
		play func(b *testing.B, by string)
	}{{"frames", playFrames}, {"server", playServer}} {
		for _, by := range []string{none, hub, reader} {
			b.Run("from="+from.name+"/impl="+by, func(b *testing.B) {
				b.ReportAllocs()
				from.play(b, by)
			})
		}
	}
}

const (
	none   = "none"
	hub    = "hub"
	reader = "reader"
)

const benchObjects = 1_000

// played is what is looked at, or not.
type played struct {
	reconciled chan struct{} // gets one for each time that the last key was reconciled
	ends       []func()
}

// lastKey is the key whose change is the last of a play. There is one worker, so all others are done when it is.
var lastKey = listwatch.Key{Namespace: stormNamespace, Name: "last"}

// startPlayed starts the layers on a server, and who looks at them.
func startPlayed(b *testing.B, by string, h *look.Hub, cfg *rest.Config, paged bool) *played {
	p := &played{reconciled: make(chan struct{}, 1)}
	client, err := networkingv1client.NewForConfig(cfg)
	if err != nil {
		b.Fatal(err)
	}
	gvr := corev1.SchemeGroupVersion.WithResource("services")
	lw, err := listwatch.NewForConfig[*corev1.Service](cfg, gvr, listwatch.Options{Decoder: memo.New(memo.Options{})})
	if err != nil {
		b.Fatal(err)
	}
	options := sharedinformer.Options[*corev1.Service]{Indexers: indexer.Indexers[*corev1.Service]{"app": byApp[*corev1.Service]}}
	options.Reflector.DisableStreamingList = paged
	view := &look.View{Workers: 1, Enqueuer: enqueuer}
	loop := controller.Options[listwatch.Key]{Workers: 1, DrainTimeout: -1}
	var in *sharedinformer.Informer[*corev1.Service]
	if by == none {
		in = sharedinformer.New(listwatch.ListerWatcher[*corev1.Service](lw), options)
	} else {
		observed := look.At(listwatch.ListerWatcher[*corev1.Service](lw), "Service", options, h.Report)
		in, view.Informers = observed.Informer, map[string]look.Informer{"services": observed}
		loop.Observe = func(seen []observe.Observation[listwatch.Key]) { h.Report(look.Of("", seen)...) }
	}
	reconciler, err := ingress.NewReconciler(ingress.Config{
		AnnotationPrefix: ingress.DefaultAnnotationPrefix, Class: ingress.DefaultClass, Host: ingress.DefaultHost,
	}, in.Store(), noIngresses{}, client, &record.FakeRecorder{})
	if err != nil {
		b.Fatal(err)
	}
	c := controller.New[listwatch.Key](tellsLast{reconciler, p}, loop)
	_, err = in.AddHandler(controller.EnqueueObject[*corev1.Service](c), sharedinformer.HandlerOptions{Name: enqueuer})
	if err != nil {
		b.Fatal(err)
	}
	_, err = in.AddHandler(sharedinformer.HandlerFuncs[*corev1.Service]{}, sharedinformer.HandlerOptions{Name: auditor})
	if err != nil {
		b.Fatal(err)
	}
	view.Loop = c
	h.Begin(view)
	p.ends = append(p.ends, h.Close)
	p.start(func(ctx context.Context) { _ = in.Run(ctx) })
	p.start(func(ctx context.Context) { _ = c.Run(ctx) })
	if by == reader {
		p.read(b, h)
	}
	return p
}

func (p *played) start(run func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); run(ctx) }()
	p.ends = append(p.ends, func() { cancel(); <-done })
}

func (p *played) end() {
	for _, end := range p.ends {
		end()
	}
}

// read reads the stream of the hub.
func (p *played) read(b *testing.B, h *look.Hub) {
	server := httptest.NewServer(look.Handler(h))
	answer, err := server.Client().Get(server.URL + "/stream")
	if err == nil {
		_, err = answer.Body.Read(make([]byte, 1))
	}
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(io.Discard, answer.Body) }()
	p.ends = append(p.ends, func() { _ = answer.Body.Close(); server.CloseClientConnections(); server.Close(); <-done })
}

// tellsLast is a reconciler that says when the last key was reconciled.
type tellsLast struct {
	*ingress.Reconciler
	p *played
}

func (t tellsLast) Reconcile(ctx context.Context, key listwatch.Key) (controller.Result, error) {
	result, err := t.Reconciler.Reconcile(ctx, key)
	if key == lastKey {
		t.p.reconciled <- struct{}{}
	}
	return result, err
}

// noIngresses is an empty cache. No Service of the benchmark wants an Ingress.
type noIngresses struct{}

func (noIngresses) GetByKey(listwatch.Key) (*networkingv1.Ingress, bool) { return nil, false }
func (noIngresses) ResourceVersion() string                              { return "" }

// playServer has the server's own handler change objects, in one goroutine: no client's request is measured.
func playServer(b *testing.B, by string) {
	w := &World{faults: newFaults(), listener: apiserver.NewPipeListener(), pipeline: &pipeline{hub: look.NewHub()}}
	w.server = w.newServer()
	handler := w.server.Handler()
	w.ctx, w.end = context.WithCancel(context.Background())
	defer func() { w.end(); w.running.Wait() }()
	w.serve()
	send := func(method, name, contentType, body string) {
		r := httptest.NewRequest(method, "/api/v1/namespaces/storm/services"+name, strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		answer := httptest.NewRecorder()
		if handler.ServeHTTP(answer, r); answer.Code >= 300 {
			b.Fatal(answer.Body)
		}
	}
	const service = `{"metadata":{"name":%q},"spec":{"ports":[{"port":80}]}}`
	for n := range benchObjects {
		send("POST", "", "application/json", fmt.Sprintf(service, nameOfNth(n)))
	}
	send("POST", "", "application/json", fmt.Sprintf(service, lastKey.Name))
	agent := "benchmark" // the server does not look at its watches
	if by != none {
		agent = pipelineAgent
	}
	p := startPlayed(b, by, w.hub, w.config(agent), false)
	defer p.end()
	change := func(name string, n int) {
		send("PATCH", "/"+name, "application/merge-patch+json", fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, n))
	}
	for n := range benchObjects {
		change(nameOfNth(n), 1_000_000) // the first change takes the server longer than the others
	}
	used := cpu(b)
	for n := 0; b.Loop(); n++ {
		name := nameOfNth(n * 7919) // in an order that is none, each as often as the others
		if n%100 == 0 {
			<-p.reconciled // so the server is at most 200 changes ahead
			name = lastKey.Name
		}
		change(name, n)
	}
	<-p.reconciled
	b.ReportMetric(float64((cpu(b)-used).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// cpu is the time that the processors have spent on this process.
func cpu(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func nameOfNth(n int) string { return fmt.Sprintf("s-%d", n%benchObjects) }

// inOneWatch is how many events a watch of playFrames has.
const inOneWatch = 20_000

// playFrames plays a watch again and again, each to layers of its own. Only the time from the watch's answer on counts.
func playFrames(b *testing.B, by string) {
	list, events := frames(b)
	var took, used time.Duration
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		answer := make(chan struct{})
		cfg := &rest.Config{Host: "http://lens.invalid", QPS: -1}
		cfg.Transport = canned(func(r *http.Request) (*http.Response, error) {
			body := io.NopCloser(bytes.NewReader(list))
			if r.URL.Query().Has("watch") {
				select {
				case <-answer:
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
				body = &packets{bytes.NewReader(events), r.Context()}
			}
			header := http.Header{"Content-Type": {kuberuntime.ContentTypeProtobuf}}
			return &http.Response{StatusCode: http.StatusOK, Header: header, Body: body, Request: r}, nil
		})
		p := startPlayed(b, by, look.NewHub(), cfg, true)
		began, usedBefore := time.Now(), cpu(b)
		close(answer)
		<-p.reconciled
		took, used = took+time.Since(began), used+cpu(b)-usedBefore
		p.end()
	}
	runtime.ReadMemStats(&after)
	all := float64(b.N) * inOneWatch
	b.ReportMetric(float64(took.Nanoseconds())/all, "ns/op")
	b.ReportMetric(float64(used.Nanoseconds())/all, "cpu-ns/op")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/all, "allocs/op")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/all, "B/op")
}

// frames encodes an empty list, and a watch that adds the objects and changes them.
func frames(b *testing.B) (list, events []byte) {
	const contentType = kuberuntime.ContentTypeProtobuf
	info, _ := kuberuntime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), contentType)
	stream := info.StreamSerializer
	var written bytes.Buffer
	framer := streaming.NewEncoder(stream.Framer.NewFrameWriter(&written), stream.Serializer)
	encoder := restwatch.NewEncoder(framer, info.Serializer)
	for n := range inOneWatch {
		service := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}}
		service.Namespace, service.Name = stormNamespace, nameOfNth(n*7919)
		if n == inOneWatch-1 {
			service.Name = lastKey.Name
		}
		service.UID, service.ResourceVersion = types.UID("uid of "+service.Name), fmt.Sprint(100_000+n)
		service.Labels = map[string]string{"n": fmt.Sprint(n)}
		service.Spec.Ports = []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}
		service.Spec.Type, service.Spec.ClusterIP = corev1.ServiceTypeClusterIP, "10.0.0.1"
		if err := encoder.Encode(&watch.Event{Type: watch.Modified, Object: service}); err != nil {
			b.Fatal(err)
		}
	}
	empty := &corev1.ServiceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}}
	empty.ResourceVersion = "1"
	list, err := kuberuntime.Encode(info.Serializer, empty)
	if err != nil {
		b.Fatal(err)
	}
	return list, written.Bytes()
}

type canned func(*http.Request) (*http.Response, error)

func (f canned) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// packets hands out 4 KiB at most at a time, and ends with its request.
type packets struct {
	*bytes.Reader
	ctx context.Context
}

func (p *packets) Read(into []byte) (int, error) {
	n, err := p.Reader.Read(into[:min(len(into), 4096)])
	if err != nil {
		<-p.ctx.Done()
	}
	return n, err
}

func (p *packets) Close() error { return nil }
