package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"glasswatch/listwatch"
	"glasswatch/listwatch/memo"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/transform"
)

// handlers is how many each informer has, as in a program with several controllers. The first one observes.
const handlers = 3

// subject starts to read pods and returns at once. What it sees it tells o; wait returns once all its handlers have been
// given what there was at the start. It goes on until ctx ends.
type subject func(ctx context.Context, cfg *rest.Config, o *observer) (wait func(context.Context) error, err error)

// The variants, in the order of the tables.
const (
	glasswatch         = "glasswatch"
	glasswatchStripped = "glasswatch-stripped"
	glasswatchUnshared = "glasswatch-unshared"
	clientGo           = "client-go"
	clientGoStripped   = "client-go-stripped"
	floor              = "floor"
)

var variants = []string{glasswatch, glasswatchStripped, glasswatchUnshared, clientGo, clientGoStripped, floor}

type podOptions = sharedinformer.Options[*corev1.Pod]

var subjects = map[string]subject{
	glasswatch:         ours(podOptions{}, true),
	glasswatchStripped: ours(podOptions{Transform: transform.StripManagedFields[*corev1.Pod]}, true),
	glasswatchUnshared: ours(podOptions{}, false),
	clientGo:           theirs(nil),
	clientGoStripped:   theirs(stripManagedFields),
	floor:              readAndForget,
}

// ours is an informer as the factory makes it, or one whose pods share nothing.
func ours(opts podOptions, sharing bool) subject {
	return func(ctx context.Context, cfg *rest.Config, o *observer) (func(context.Context) error, error) {
		clientOptions := listwatch.Options{}
		if sharing {
			clientOptions.Decoder = memo.New(memo.Options{})
		}
		lw, err := listwatch.NewForConfig[*corev1.Pod](cfg, corev1.SchemeGroupVersion.WithResource("pods"), clientOptions)
		if err != nil {
			return nil, err
		}
		informer := sharedinformer.New(lw, opts)
		var all []*sharedinformer.Registration
		for i := range handlers {
			to := o.handler(i)
			registration, err := informer.AddHandler(sharedinformer.HandlerFuncs[*corev1.Pod]{
				AddFunc:    func(pod *corev1.Pod, _ bool) { to.added(pod) },
				UpdateFunc: func(_, pod *corev1.Pod) { to.updated(pod) },
			}, sharedinformer.HandlerOptions{})
			if err != nil {
				return nil, err
			}
			all = append(all, registration)
		}
		go func() { _ = informer.Run(ctx) }() // can only say that it was started before
		return func(ctx context.Context) error {
			for _, registration := range all {
				if err := registration.WaitForSync(ctx); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}
}

func theirs(change cache.TransformFunc) subject {
	return func(ctx context.Context, cfg *rest.Config, o *observer) (func(context.Context) error, error) {
		client, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return nil, err
		}
		informer := informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
		if err := informer.SetTransform(change); err != nil {
			return nil, err
		}
		var synced []<-chan struct{}
		for i := range handlers {
			to := o.handler(i)
			registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc:    func(obj any) { to.added(obj.(*corev1.Pod)) },
				UpdateFunc: func(_, obj any) { to.updated(obj.(*corev1.Pod)) },
			})
			if err != nil {
				return nil, err
			}
			synced = append(synced, registration.HasSyncedChecker().Done())
		}
		go informer.RunWithContext(ctx)
		return func(ctx context.Context) error {
			for _, c := range synced {
				select {
				case <-c:
				case <-ctx.Done():
					return fmt.Errorf("client-go's informer has not synced: %w", context.Cause(ctx))
				}
			}
			return nil
		}, nil
	}
}

func stripManagedFields(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// readAndForget reads the bytes of the same streaming list as the informers, and decodes nothing: what is left is the
// server's and the network's own time.
func readAndForget(ctx context.Context, cfg *rest.Config, o *observer) (func(context.Context) error, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.APIPath, cfg.GroupVersion, cfg.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion, scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	yes := true
	request := client.Get().Resource("pods").VersionedParams(&metav1.ListOptions{
		Watch: true, AllowWatchBookmarks: true, SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}, scheme.ParameterCodec)
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, err
	}
	synced, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		defer body.Close()
		ended <- readFrames(body, o.handler(0), synced)
	}()
	return func(ctx context.Context) error {
		select {
		case <-synced:
			return nil
		case err := <-ended:
			return fmt.Errorf("the watch has ended: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("no end of the initial events: %w", context.Cause(ctx))
		}
	}, nil
}

// readFrames reads frames until the stream fails. It closes synced at the bookmark that ends the initial events.
func readFrames(stream io.Reader, to *handler, synced chan struct{}) error {
	in := bufio.NewReaderSize(stream, 64<<10)
	var size [4]byte
	var frame []byte
	for initial := true; ; {
		if _, err := io.ReadFull(in, size[:]); err != nil {
			return err
		}
		n := int(binary.BigEndian.Uint32(size[:]))
		if n > http.DefaultMaxHeaderBytes*16 {
			return errors.New("a frame of more than 16 MiB")
		}
		if n > cap(frame) {
			frame = make([]byte, n)
		}
		frame = frame[:n]
		if _, err := io.ReadFull(in, frame); err != nil {
			return err
		}
		switch {
		case bytes.HasPrefix(frame, bookmarkFrame):
			if initial && bytes.Contains(frame, []byte(metav1.InitialEventsAnnotationKey)) {
				initial = false
				close(synced)
			}
		case initial:
			to.count()
		default:
			if _, value, ok := bytes.Cut(frame, sentAtEntry); ok && len(value) > sentAtLength {
				to.sent(string(value[:sentAtLength]))
			}
		}
	}
}

// What stands in a frame's bytes: the type of an event that is a bookmark, and an annotation before its value.
var (
	bookmarkFrame = []byte("\x0a\x08BOOKMARK")
	sentAtEntry   = []byte(sentAt + "\x12" + string(rune(sentAtLength)))
)
