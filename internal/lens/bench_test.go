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
	"glasswatch/listwatch"
	"glasswatch/listwatch/memo"
	"glasswatch/reflector"
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
		play func(b *testing.B, l look)
	}{{"frames", playFrames}, {"server", playServer}} {
		for _, l := range []look{none, hub, reader} {
			b.Run("from="+from.name+"/impl="+string(l), func(b *testing.B) {
				b.ReportAllocs()
				from.play(b, l)
			})
		}
	}
}

type look string

const (
	none   look = "none"
	hub    look = "hub"
	reader look = "reader"
)

const benchObjects = 1_000

// pipeline is what is looked at, or not.
type pipeline struct {
	hub        *Hub // nil if nobody looks
	in         *informer[*corev1.Service]
	loop       *controller.Controller[listwatch.Key]
	reconciled chan struct{} // gets one for each time that the last key was reconciled
	ends       []func()
}

// lastKey is the key whose change is the last of a play. There is one worker, so all others are done when it is.
var lastKey = listwatch.Key{Namespace: stormNamespace, Name: "last"}

// newPipeline starts the layers on a server, as World does, and who looks at them.
func newPipeline(b *testing.B, l look, back *backend, cfg *rest.Config, paged bool) *pipeline {
	p := &pipeline{reconciled: make(chan struct{}, 1)}
	var observe func(controller.Observation[listwatch.Key])
	if l != none {
		p.hub = back.hub
		p.hub.Restart()
		observe = func(o controller.Observation[listwatch.Key]) { p.hub.report(ofController(o)) }
	}
	p.makeInformer(b, cfg, paged)
	client, err := networkingv1client.NewForConfig(cfg)
	if err != nil {
		b.Fatal(err)
	}
	reconciler, err := ingress.NewReconciler(ingress.Config{
		AnnotationPrefix: ingress.DefaultAnnotationPrefix, Class: ingress.DefaultClass, Host: ingress.DefaultHost,
	}, p.in.Store(), noIngresses{}, client, &record.FakeRecorder{})
	if err != nil {
		b.Fatal(err)
	}
	p.loop = controller.New[listwatch.Key](tellsLast{reconciler, p}, controller.Options[listwatch.Key]{
		Workers: 1, DrainTimeout: -1, Observe: observe,
	})
	p.handle(b, enqueuer, controller.EnqueueObject[*corev1.Service](p.loop))
	p.handle(b, auditor, sharedinformer.HandlerFuncs[*corev1.Service]{})
	p.start(func(ctx context.Context) { _ = p.in.Run(ctx) })
	p.start(func(ctx context.Context) { _ = p.loop.Run(ctx) })
	if l == reader {
		p.attach(b, back)
	}
	return p
}

func (p *pipeline) makeInformer(b *testing.B, cfg *rest.Config, paged bool) {
	gvr := corev1.SchemeGroupVersion.WithResource("services")
	lw, err := listwatch.NewForConfig[*corev1.Service](cfg, gvr, listwatch.Options{Decoder: memo.New(memo.Options{})})
	if err != nil {
		b.Fatal(err)
	}
	p.in = &informer[*corev1.Service]{hub: p.hub, kind: "Service"}
	options := sharedinformer.Options[*corev1.Service]{
		Indexers: indexer.Indexers[*corev1.Service]{"app": byApp[*corev1.Service]},
		Feed: func(cfg sharedinformer.ControllerConfig[*corev1.Service]) sharedinformer.Feeder {
			p.in.queue, _ = cfg.Queue.(pendingQueue[*corev1.Service])
			p.in.reflector = reflector.New(cfg.ListerWatcher, reflector.Sink[*corev1.Service](cfg.Queue), cfg.Reflector)
			return p.in.reflector
		},
	}
	options.Reflector.DisableStreamingList = paged
	if p.hub != nil {
		options.Observe = func(o sharedinformer.Observation) {
			var one [1]Event
			p.hub.report(ofInformer(one[:0], "Service", o)...)
		}
		options.Reflector.Observe = func(o reflector.Observation) {
			var one [1]Event
			p.hub.report(ofReflector(one[:0], "Service", o)...)
		}
	}
	p.in.Informer = sharedinformer.New(listwatch.ListerWatcher[*corev1.Service](lw), options)
}

func (p *pipeline) handle(b *testing.B, name string, handler sharedinformer.Handler[*corev1.Service]) {
	registration, err := p.in.AddHandler(handler, sharedinformer.HandlerOptions{Name: name})
	if err != nil {
		b.Fatal(err)
	}
	p.in.handlers = append(p.in.handlers, registration)
}

func (p *pipeline) start(run func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); run(ctx) }()
	p.ends = append(p.ends, func() { cancel(); <-done })
}

func (p *pipeline) end() {
	if p.hub != nil {
		p.hub.Close()
	}
	for _, end := range p.ends {
		end()
	}
}

// attach reads the stream of a lens that looks at the pipeline.
func (p *pipeline) attach(b *testing.B, back *backend) {
	world := &World{
		hub: p.hub, backend: back, options: Options{Workers: 1}, loop: p.loop,
		informers: map[string]looker{"services": p.in},
	}
	l := &Lens{hub: p.hub, world: world, worlds: 1}
	server := httptest.NewServer(http.HandlerFunc(l.stream))
	answer, err := server.Client().Get(server.URL)
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
	p *pipeline
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
func playServer(b *testing.B, l look) {
	back := newBackend(NewHub(), Options{})
	send := func(method, name, contentType, body string) {
		r := httptest.NewRequest(method, "/api/v1/namespaces/storm/services"+name, strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		answer := httptest.NewRecorder()
		if back.api.ServeHTTP(answer, r); answer.Code >= 300 {
			b.Fatal(answer.Body)
		}
	}
	const service = `{"metadata":{"name":%q},"spec":{"ports":[{"port":80}]}}`
	for n := range benchObjects {
		send("POST", "", "application/json", fmt.Sprintf(service, nameOfNth(n)))
	}
	send("POST", "", "application/json", fmt.Sprintf(service, lastKey.Name))
	agent := "benchmark" // the backend does not look at its watches
	if l != none {
		agent = pipelineAgent
	}
	cfg := &rest.Config{Host: "http://lens.invalid", Dial: back.dial, QPS: -1, UserAgent: agent}
	p := newPipeline(b, l, back, cfg, false)
	defer p.end()
	p.start(back.run)
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
func playFrames(b *testing.B, l look) {
	list, events := frames(b)
	var took, used time.Duration
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		back := newBackend(NewHub(), Options{}) // what the reader asks for the server's state
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
		p := newPipeline(b, l, back, cfg, true)
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
