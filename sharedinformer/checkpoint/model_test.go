package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"glasswatch/listwatch"
	"glasswatch/reflector"
	"glasswatch/sharedinformer"
)

type scene struct {
	Verb string
	Name string
	N    int
}

var restartGen = rapid.Custom(func(t *rapid.T) scene {
	return scene{
		Verb: rapid.SampledFrom([]string{"put", "put", "put", "delete", "break", "compact", "stop", "start", "start", "restart", "restart", "settle", "pass", "pass",
			"lose the file", "damage the file"}).Draw(t, "verb"),
		Name: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name"),
		N:    rapid.IntRange(0, 4000).Draw(t, "n"),
	}
})

// However a program dies and starts again from its checkpoint, and whatever happens to the server and the file meanwhile, at
// rest its store and its handler's view are what the server has.
func TestCheckpoint_EndsEqualToTheServerInEveryHistoryOfRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint")
	resumed := 0
	rapid.Check(t, func(rt *rapid.T) {
		script := rapid.SliceOfN(restartGen, 10, 60).Draw(rt, "script")
		var problem error
		synctest.Test(t, func(t *testing.T) {
			r := &restarting{T: t, server: newServer(), path: path}
			problem = r.play(script)
			resumed += r.resumed
		})
		if problem != nil {
			rt.Fatal(problem)
		}
	})
	if resumed < 50 {
		t.Errorf("only %d starts were from a checkpoint", resumed)
	}
}

// restarting is a program that keeps a checkpoint; its informer is nil while it does not run.
type restarting struct {
	*testing.T
	server   *server
	path     string
	informer *Informer[*config]
	told     *recorder
	stop     func()
	resumed  int
}

func (r *restarting) start() error {
	if r.informer != nil {
		return nil
	}
	informer, err := New(r.server, informerOptions{
		WatchErrorHandler: func(context.Context, error) {}, OnObjectError: func(listwatch.Key, error) {},
		Reflector: reflector.Options{
			DisableStreamingList: true, Backoff: reflector.Backoff{Base: 100 * time.Millisecond, Max: time.Second},
		},
	}, Options{Path: r.path, Cluster: "test", Source: "configmaps", Interval: time.Second})
	if err != nil {
		return err
	}
	r.informer = informer
	r.told = newRecorder()
	if _, err := r.informer.AddHandler(r.told, sharedinformer.HandlerOptions{}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	done := make(chan error, 1)
	go func() { done <- informer.Run(ctx) }()
	r.stop = func() { cancel(); <-done }
	return nil
}

func (r *restarting) end() {
	if r.informer == nil {
		return
	}
	if r.informer.Checkpoint().Resumed != "" {
		r.resumed++
	}
	r.stop()
	r.informer = nil
}

func (r *restarting) play(script []scene) error {
	_ = os.Remove(r.path)
	defer r.end()
	if err := r.start(); err != nil {
		return err
	}
	for _, sc := range script {
		var err error
		switch sc.Verb {
		case "put":
			r.server.Put(sc.Name, fmt.Sprint(sc.N))
		case "delete":
			r.server.Delete(sc.Name)
		case "break":
			r.server.BreakWatch()
		case "compact":
			r.server.Compact()
		case "stop":
			r.end()
		case "restart": // of a program that ran for a while
			<-time.After(2 * time.Second)
			r.end()
			err = r.start()
		case "start":
			err = r.start()
		case "settle":
			err = r.judge()
		case "pass":
			<-time.After(time.Duration(sc.N) * time.Millisecond)
		case "lose the file":
			_ = os.Remove(r.path)
		case "damage the file":
			if data, readErr := os.ReadFile(r.path); readErr == nil && len(data) > 0 {
				data[sc.N%len(data)] ^= 1
				err = os.WriteFile(r.path, data, 0o600)
			}
		}
		if err != nil {
			return err
		}
	}
	if err := r.start(); err != nil {
		return err
	}
	return r.judge()
}

// judge waits till all is quiet.
func (r *restarting) judge() error {
	if r.informer == nil {
		return nil
	}
	<-time.After(time.Minute)
	synctest.Wait()
	var problems []error
	want := fmt.Sprint(r.server.versions())
	store := map[string]string{}
	for k, obj := range r.informer.Store().Snapshot().All() {
		store[k.Name] = obj.ResourceVersion
	}
	if have := fmt.Sprint(store); have != want {
		problems = append(problems, fmt.Errorf("the server has %s, the store %s", want, have))
	}
	if view := fmt.Sprint(r.told.believes()); view != want {
		problems = append(problems, fmt.Errorf("the server has %s, the handler believes %s", want, view))
	}
	if len(r.told.lies) > 0 {
		problems = append(problems, fmt.Errorf("the handler was told what cannot be: %q", r.told.lies))
	}
	if !r.informer.HasSynced() {
		problems = append(problems, errors.New("not synced"))
	}
	return errors.Join(problems...)
}
