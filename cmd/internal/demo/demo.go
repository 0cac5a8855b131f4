package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/cmd/internal/cluster"
	"glasswatch/internal/apiserver"
)

// Story is one numbered demo.
type Story struct {
	Name  string // its folder below cmd, such as 01-clients
	Title string // one line
	Layer string // the file to read for what the demo shows, from the top of the repository; may be empty
	Next  string // what to read next: a chapter of the tour, or a page

	// Server are the options of the in-process API server.
	Server apiserver.Options
	// Tell plays the story in the goroutine it is called in, and waits for all it has started. It has two minutes.
	Tell func(ctx context.Context, d *Demo) error
	// Child is what the processes do that [Demo.Child] starts.
	Child func(ctx context.Context, d *Demo, task string) error
	// Follow is what --follow does after Tell, until ctx ends. Nil: the server stays, for others to use.
	Follow func(ctx context.Context, d *Demo) error
}

// Demo is a running story: its cluster, and its helper functions.
type Demo struct {
	*Printer
	// Config is for clients; copy it before changing it.
	Config *rest.Config
	Client kubernetes.Interface
	// Tape has the requests of Client, and of all clients made from Config.
	Tape *Tape
	// Namespace exists, and holds only the objects that a cluster puts into every namespace.
	Namespace string
	// InProcess tells whether the API server runs in this process, for this demo alone.
	InProcess bool

	cluster  cluster.Flags // how another process finds the server
	server   *apiserver.Server
	steps    int
	puts     int
	cleanups []func(ctx context.Context) error
	beside   sync.WaitGroup // what Go runs
	proxied  bool           // told how to run a curl line
}

// Step begins a numbered step.
func (d *Demo) Step(title string) {
	d.steps++
	d.Heading(d.steps, title)
}

// FaultStep begins a step that needs faults. On a cluster it says that the step is left out, and returns nil.
func (d *Demo) FaultStep(title string) *apiserver.Faults {
	d.Step(title)
	if d.server == nil {
		d.Why("left out: faults are injected into the in-process API server only")
		return nil
	}
	return d.server.Faults()
}

// EndWatches ends all watches, by one of the faults, and returns when they have ended. Later changes go to the next
// watches.
func (d *Demo) EndWatches(ctx context.Context, end func() int) {
	end()
	Check(Eventually(ctx, func() error {
		if n := d.server.Faults().Watches(); n > 0 {
			return fmt.Errorf("%d watches go on", n)
		}
		return nil
	}))
}

// Watches returns the number of watches that the server counts. A cluster does not tell; there it is the number of
// watches that began since the tape was rewound.
func (d *Demo) Watches() string {
	if d.server != nil {
		return fmt.Sprintf("watches the server counts: %d", d.server.Faults().Watches())
	}
	begun := 0
	for _, r := range d.Tape.Requests() {
		if strings.Contains(r.Path, "watch=") && r.Code == http.StatusOK {
			begun++
		}
	}
	return fmt.Sprintf("watches that the server has begun: %d", begun)
}

// Did prints what the demo does.
func (d *Demo) Did(format string, args ...any) { d.Entry("did", "", fmt.Sprintf(format, args...)) }

// Saw prints the result.
func (d *Demo) Saw(format string, args ...any) { d.Entry("saw", "", fmt.Sprintf(format, args...)) }

// Sent prints what goes over the wire, or a command that sends the same.
func (d *Demo) Sent(format string, args ...any) { d.Entry("sent", "", fmt.Sprintf(format, args...)) }

// Why prints the lesson, on as many lines as it needs.
func (d *Demo) Why(format string, args ...any) {
	d.Entry("why", Dim, wrap(fmt.Sprintf(format, args...)))
}

// Cleanup is called when the story has ended, however it did, the last one first; ctx is not that of the story, which
// may be cancelled. The namespace needs none.
func (d *Demo) Cleanup(clean func(ctx context.Context) error) { d.cleanups = append(d.cleanups, clean) }

func (d *Demo) clean(ctx context.Context) error {
	defer d.beside.Wait() // the story's context has ended; the namespace does not wait for goroutines that ignore it
	var errs []error
	for i := len(d.cleanups) - 1; i >= 0; i-- {
		errs = append(errs, d.cleanups[i](ctx))
	}
	return errors.Join(errs...)
}

// Go runs something beside the story, until ctx ends or stop is called, which waits. Neither a step of [Steps] nor the demo
// ends before it.
func (d *Demo) Go(ctx context.Context, run func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	d.beside.Go(func() {
		defer close(done)
		run(ctx)
	})
	return func() { cancel(); <-done }
}

// TempDir returns an empty folder that is removed at the end.
func (d *Demo) TempDir() string {
	dir := Must(os.MkdirTemp("", "glasswatch-"))
	d.Cleanup(func(context.Context) error { return os.RemoveAll(dir) })
	return dir
}

// Steps is a Tell that calls these functions one after the other. They end the story by Must and Check. Each has a context of
// its own, and what it has started with [Demo.Go] ends with it.
func Steps(steps ...func(ctx context.Context, d *Demo)) func(context.Context, *Demo) error {
	return func(ctx context.Context, d *Demo) error {
		for _, step := range steps {
			d.take(ctx, step)
		}
		return nil
	}
}

func (d *Demo) take(ctx context.Context, step func(ctx context.Context, d *Demo)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	step(ctx, d)
	cancel()
	d.beside.Wait()
}

// failure is what Must and Check panic with.
type failure struct{ err error }

// Must returns v, or ends the story with err. It is for the goroutine that Tell was called in.
func Must[V any](v V, err error) V {
	Check(err)
	return v
}

// Check ends the story with err unless it is nil. It is for the goroutine that Tell was called in.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// rescue turns what Must and Check panic with into an error. Other panics go on.
func rescue(err *error) {
	switch cause := recover().(type) {
	case nil:
	case failure:
		*err = cause.err
	default:
		panic(cause)
	}
}

// Until repeats the call until it returns true, or ends the story with the name of the condition.
func Until(ctx context.Context, what string, isSo func() bool) {
	Check(Eventually(ctx, func() error {
		if !isSo() {
			return errors.New("waited in vain: " + what)
		}
		return nil
	}))
}

// Gone is for deletions that another client may have made first.
func Gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Eventually repeats check until it returns nil, or returns its last error.
func Eventually(ctx context.Context, check func() error) error {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}
