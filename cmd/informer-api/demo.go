package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/cmd/internal/cluster"
	"glasswatch/cmd/internal/demo"
	"glasswatch/internal/apiserver"
)

// idleInDemo is --idle of the demo, which waits for it at its end.
const idleInDemo = 2 * time.Second

// runDemo plays against an API server and an informer-api of its own.
func runDemo(ctx context.Context, o *options, out io.Writer) error {
	if !o.log.Asked() {
		klog.SetLogger(logr.Discard())
	}
	server := apiserver.New(apiserver.Options{})
	return cluster.Embedded(ctx, server, "", func(ctx context.Context, e cluster.Embedding) error {
		o.token, o.idle = rand.Text(), idleInDemo
		sh := &show{Printer: demo.NewPrinter(out), token: o.token, direct: e.Config.Host, server: server}
		client, err := kubernetes.NewForConfig(e.Config)
		if err != nil {
			return err
		}
		sh.client = client.CoreV1()
		s, err := newServer(counted(e.Config, &sh.sent), o)
		if err != nil {
			return err
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		sh.url = "http://" + listener.Addr().String()
		serving, stop := context.WithCancel(ctx)
		defer stop()
		served := make(chan error, 1)
		go func() { served <- s.serve(serving, listener) }()
		err = sh.tell(ctx)
		stop()
		http.DefaultClient.CloseIdleConnections()
		return errors.Join(err, <-served)
	})
}

// show is the demo. It checks what it prints, and ends with the first error.
type show struct {
	*demo.Printer
	token, url, direct string
	server             *apiserver.Server
	client             corev1client.CoreV1Interface
	sent               atomic.Int64 // requests of informer-api to the API server
}

func (s *show) tell(ctx context.Context) error {
	for i, step := range []struct {
		title string
		play  func(ctx context.Context) error
	}{
		{"The first read of a kind starts its informer", s.first},
		{"What a read costs", s.costs},
		{"Read your own write", s.ownWrite},
		{"Server-sent events: a snapshot, then each change", s.events},
		{"What is refused", s.refused},
		{"An informer that nobody reads stops", s.idle},
	} {
		s.Heading(i+1, step.title)
		if err := step.play(ctx); err != nil {
			return err
		}
	}
	return nil
}

// counted is cfg with a count of requests.
func counted(cfg *rest.Config, sent *atomic.Int64) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { sent.Add(1); return next.RoundTrip(r) })
	})
	return cfg
}

type roundTripper func(r *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
