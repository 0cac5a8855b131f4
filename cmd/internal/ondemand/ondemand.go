package ondemand

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

const (
	syncPatience = 2 * time.Second // how long a read waits for the first list before it is told to come back
	missLifetime = 5 * time.Second // how long a kind that is not there, or may not be read, is not asked for again
	maxMisses    = 1024
)

var errClosed = apierrors.NewServiceUnavailable("the informers have been stopped")

// Kind is an informer with its readers.
type Kind struct {
	*sharedinformer.Informer[*Object]
	GVR   schema.GroupVersionResource
	About metav1.APIResource

	started time.Time // tells it from earlier informers on the same resource
	stop    context.CancelFunc
	of      *Kinds
	// protected by of.mu
	readers  int
	lastRead time.Time
	idle     *time.Timer // begins anew when the last reader leaves
}

// Kinds are the informers, one a kind. The first reader starts one; it stops a time after the last one left.
type Kinds struct {
	cfg       *rest.Config
	http      *http.Client // one for all informers
	discovery *discovery.DiscoveryClient
	opts      Options
	misses    *cache.LRUExpireCache // by resource: the error that says why it cannot be read
	wg        sync.WaitGroup        // the running informers
	ctx       context.Context       // theirs
	end       context.CancelFunc

	mu      sync.Mutex
	running map[schema.GroupVersionResource]*Kind // protected by mu
}

// Options of Kinds.
type Options struct {
	Max  int           // how many informers there are at the same time; one without a reader gives way to another kind
	Idle time.Duration // how long one runs without a reader
}

// New returns no informers yet.
func New(cfg *rest.Config, o Options) (*Kinds, error) {
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	p := &Kinds{cfg: cfg, http: client, opts: o,
		misses: cache.NewLRUExpireCache(maxMisses), running: map[schema.GroupVersionResource]*Kind{}}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(cfg, client)
	return p, err
}

// Close ends all informers and returns when they have ended.
func (p *Kinds) Close() {
	p.mu.Lock()
	p.end()
	p.mu.Unlock() // from here on no informer starts, so Wait misses none
	p.wg.Wait()
	p.http.CloseIdleConnections()
}

// Enter returns the informer on a resource, which does not stop before Leave. It starts one if there is none. After
// Close it returns an error.
func (p *Kinds) Enter(ctx context.Context, gvr schema.GroupVersionResource) (*Kind, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[gvr] == nil {
		p.mu.Unlock()
		about, err := p.look(ctx, gvr)
		p.mu.Lock()
		if err == nil && p.running[gvr] == nil { // else another request was faster
			err = p.startLocked(gvr, about)
		}
		if err != nil {
			return nil, err
		}
	}
	if p.ctx.Err() != nil {
		return nil, errClosed
	}
	k := p.running[gvr]
	k.readers++
	return k, nil
}

// Leave ends what Enter began.
func (p *Kinds) Leave(k *Kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k.readers--
	k.lastRead = time.Now()
	if k.readers == 0 {
		k.idle.Reset(p.opts.Idle)
	}
}

// look asks the server what it knows of a resource that can be listed and watched.
func (p *Kinds) look(ctx context.Context, gvr schema.GroupVersionResource) (about metav1.APIResource, err error) {
	if missing, ok := p.misses.Get(gvr); ok {
		return about, missing.(error)
	}
	list, err := p.discovery.ServerResourcesForGroupVersionWithContext(ctx, gvr.GroupVersion().String())
	if err != nil && !apierrors.IsNotFound(err) {
		return about, apierrors.NewServiceUnavailable(err.Error())
	}
	if err == nil {
		for _, about := range list.APIResources {
			can := about.Verbs
			if about.Name == gvr.Resource && slices.Contains(can, "list") && slices.Contains(can, "watch") {
				return about, nil
			}
		}
	}
	err = apierrors.NewGenericServerResponse(http.StatusNotFound, "watch", gvr.GroupResource(), "", "", 0, false)
	p.misses.Add(gvr, err, missLifetime)
	return about, err
}

func (p *Kinds) startLocked(gvr schema.GroupVersionResource, about metav1.APIResource) error {
	if p.ctx.Err() != nil {
		return errClosed
	}
	if len(p.running) >= p.opts.Max {
		p.makeRoomLocked()
	}
	if len(p.running) >= p.opts.Max {
		const text = "%d kinds are being read, and the limit is %d"
		return apierrors.NewServiceUnavailable(fmt.Sprintf(text, len(p.running), p.opts.Max))
	}
	gvk := gvr.GroupVersion().WithKind(about.Kind)
	kinds := runtime.NewScheme()
	kinds.AddKnownTypeWithName(gvk, &Object{})
	lw, err := listwatch.NewForConfig[*Object](p.cfg, gvr, listwatch.Options{HTTPClient: p.http, Scheme: kinds})
	if err != nil {
		return err
	}
	opts := sharedinformer.Options[*Object]{Name: gvr.GroupResource().String(), Resource: gvr.GroupResource(),
		Transform: func(obj *Object) (*Object, error) { return obj.sayKind(gvk), nil }}
	k := &Kind{Informer: sharedinformer.New(lw, opts), GVR: gvr, About: about, started: time.Now(), of: p}
	k.idle = time.AfterFunc(p.opts.Idle, func() { p.stopIdle(k) })
	p.running[gvr] = k
	var ctx context.Context
	ctx, k.stop = context.WithCancel(p.ctx)
	p.wg.Go(func() {
		klog.FromContext(ctx).Info("Starting an informer", "resource", gvr)
		_ = k.Run(ctx) // the only error is a second run
		k.idle.Stop()
		klog.FromContext(ctx).Info("Stopped an informer", "resource", gvr)
	})
	return nil
}

func (p *Kinds) stopIdle(k *Kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Else there are readers, or one left as the timer fired.
	if k.readers == 0 && time.Since(k.lastRead) >= p.opts.Idle {
		p.stopLocked(k)
	}
}

// makeRoomLocked stops the informer that has been without a reader for the longest time, if there is one.
func (p *Kinds) makeRoomLocked() {
	var oldest *Kind
	for _, k := range p.running {
		if k.readers == 0 && (oldest == nil || k.lastRead.Before(oldest.lastRead)) {
			oldest = k
		}
	}
	if oldest != nil {
		p.stopLocked(oldest)
	}
}

// stopLocked lets the next reader ask the server anew.
func (p *Kinds) stopLocked(k *Kind) {
	k.stop()
	if p.running[k.GVR] == k {
		delete(p.running, k.GVR)
	}
}

func (p *Kinds) stop(k *Kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopLocked(k)
}

// Ready waits a while for the first list. An informer that has not synced must not answer: its empty store would look
// like an empty cluster. Nor may one whose resource is gone or whose rights were taken away.
func (k *Kind) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, syncPatience)
	defer cancel()
	synced := k.WaitForSync(ctx)
	switch err := k.LastError(); {
	case apierrors.IsNotFound(err):
		k.of.stop(k)
		return err
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		err = fmt.Errorf("this server itself may not read it: %w", err)
		err = apierrors.NewForbidden(k.GVR.GroupResource(), "", err)
		k.of.misses.Add(k.GVR, err, missLifetime)
		k.of.stop(k)
		return err
	}
	if synced != nil {
		return apierrors.NewServiceUnavailable(synced.Error())
	}
	return nil
}
