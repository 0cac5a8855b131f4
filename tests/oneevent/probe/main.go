// Command probe lets one event pass an informer with one index and one handler, and writes which code ran meanwhile into
// the folder that it is given. It is built with go build -cover, for the test beside it.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/coverage"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// warmUps are the events before the measured one: the first ones grow buffers, which later ones do not.
const warmUps = 200

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server, listener := apiserver.New(apiserver.Options{}), apiserver.NewPipeListener()
	go func() { _ = server.Serve(ctx, listener) }()
	config := server.RESTConfigFor(listener)
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	lw, err := listwatch.NewForConfig[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"), listwatch.Options{})
	if err != nil {
		return err
	}

	handled, returns := make(chan string), make(chan struct{})
	informer := sharedinformer.New(lw, sharedinformer.Options[*corev1.ConfigMap]{})
	handler, err := informer.AddHandler(diary{handled, returns}, sharedinformer.HandlerOptions{})
	if err != nil {
		return err
	}
	go func() { _ = informer.Run(ctx) }()
	if err := handler.WaitForSync(ctx); err != nil {
		return err
	}

	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Data: map[string]string{"n": "0"}}
	if _, err = maps.Create(ctx, obj, metav1.CreateOptions{}); err != nil {
		return err
	}
	<-handled
	for n := 1; n <= warmUps+1; n++ {
		// The handler's goroutine settles the call before once its counters show it; then all of them wait for an event.
		for handler.Stats().Depth > 0 {
		}
		if n > warmUps {
			if err := coverage.ClearCounters(); err != nil {
				return err
			}
		}
		obj.Data["n"] = strconv.Itoa(n)
		if _, err = maps.Update(ctx, obj, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if got := <-handled; got != obj.Data["n"] {
			return fmt.Errorf("the handler was given %q, expected %q", got, obj.Data["n"])
		}
		if n <= warmUps {
			returns <- struct{}{}
		}
	}
	// The handler is still at its call. The goroutines that brought the event come to rest first.
	time.Sleep(200 * time.Millisecond)
	if err := coverage.WriteCountersDir(folder); err != nil {
		return err
	}
	return coverage.WriteMetaDir(folder)
}

// diary is a handler that says what it was given, and stays in OnUpdate until it may return.
type diary struct {
	handled chan<- string
	returns <-chan struct{}
}

func (d diary) OnAdd(obj *corev1.ConfigMap, _ bool) { d.handled <- obj.Data["n"] }

func (d diary) OnUpdate(_, obj *corev1.ConfigMap) {
	d.handled <- obj.Data["n"]
	<-d.returns
}

func (d diary) OnDelete(sharedinformer.Deletion[*corev1.ConfigMap]) {}
