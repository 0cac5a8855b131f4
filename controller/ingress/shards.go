package ingress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/controller"
	"glasswatch/controller/shards"
	"glasswatch/controller/shards/follow"
	shardmetrics "glasswatch/controller/shards/metrics"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/merged"
	"glasswatch/sharedinformer/mutationdetect"
)

// Sharding lets several replicas work at the same time, each on the Services of its shards.
//
//	By               Services        Ingresses                       for
//	Namespace        of its shards   of its shards                   clusters without one namespace that has most of all
//	UID              of its shards   all                             one large namespace
//	UID and ByLabel  of its shards   whose label names its shards    that, and more Ingresses than one process holds
//
// The rules ask for what has a Service's name. Rules 1 to 3 ask for the Service's own Ingress. Rule 4 asks for that of an
// earlier Service, and rule 5 for those of others, without labels as well. In one namespace all have one hash. Their
// UIDs have not, and no selector finds an Ingress by its name's Service. So with UID each replica watches all.
//
// With ByLabel the controller writes the label <prefix>/shard, and what does not have it is unseen. If an unseen Ingress
// is in the way of a creation, the server refuses that. Then a list of this one tells whose it is: rules 4 and 5 hold,
// and one of this Service gets its label. No event tells when an unseen one goes, so it is looked at again every
// unseenDelay.
//
// Rule 2 needs the unseen Ingresses of Services that ask for none. Such an Ingress has the label of another number of
// shards, or none yet. So a replica that got shards lists the metadata of all unseen Ingresses, those of others as
// well. If somebody takes a label off or changes it, its Ingress is found by its name when the Service stops asking.
// One that somebody makes without the label, for a Service that asks for none, stays until shards move. So does one
// whose label somebody changed, if shards moved before its Service stopped asking.
//
// With UID a replica's Ingresses may be older than what the former owner of a Service wrote. A write that this leads to
// is refused by its precondition, and tried again. A Service that was deleted and made again is another one, with
// another shard: two replicas may look at that name for a moment, each for its Service.
type Sharding struct {
	Leases coordinationv1client.LeasesGetter
	Member shards.Options // its OnChange is replaced
	By     shard.Field
	// ByLabel needs shard.UID. A selector then names the labels of all shards: there should be 512 at most.
	ByLabel bool
	// Waits, if not nil, tells that this replica cannot join yet, as others work in another way. It is ready all the
	// same: a rolling update waits until it is, before it ends those that it waits for.
	Waits func() bool
}

// group is what a sharded controller has more than another one.
type group struct {
	*follow.Group
	by      shard.Field
	byLabel bool
	shards  int
	waits   func() bool // may be nil
	// onForeign is told of each object of another shard that the server sent; nil without metrics.
	onForeign func()
	// unseenClient lists the unseen Ingresses; nil without byLabel. unseen has the keys of Services that had one at the
	// last list, until they are reconciled. unseenErr is what became of that list.
	unseenClient *listwatch.Client[*metav1.PartialObjectMetadata]
	unseen       sync.Map
	unseenErr    atomic.Pointer[error]
	// ingressesUpTo is nil if all Ingresses are watched.
	ingressesUpTo func(ctx context.Context, shard int) string
}

// newGroup makes the group, whose informers newInformer then adds.
func (c *Controller) newGroup(s *Sharding, reg prometheus.Registerer) error {
	if s.ByLabel && s.By != shard.UID {
		return fmt.Errorf("shards: ByLabel is for %s, got %s", shard.UID, s.By)
	}
	member, err := s.Member, error(nil)
	member.OnChange = nil
	member.Shards = cmp.Or(member.Shards, 256) // the default
	g := &group{by: s.By, byLabel: s.ByLabel, shards: member.Shards, waits: s.Waits}
	var metrics follow.Metrics
	if reg != nil {
		count := func() (int, int) { return g.Largest() }
		metrics, g.onForeign, err = shardmetrics.Register(reg, member.Name, count)
		if err != nil {
			return err
		}
	}
	g.Group, err = follow.New(s.Leases, follow.Options{
		Member: member, Field: s.By, Metrics: metrics, OnListed: c.enqueueShards,
	})
	c.group = g
	return err
}

// follows reports whether this controller has only its shards of a resource.
func (c *Controller) follows(resource string) bool {
	return c.group != nil && (c.group.by == shard.Namespace || c.group.byLabel || resource == "services")
}

// shardOf returns the shard of a key, -1 for that of a Service that is not in the store.
func (c *Controller) shardOf(key listwatch.Key) int {
	if c.group.by == shard.Namespace {
		return c.group.OfValue(key.Namespace)
	}
	if svc, ok := c.services.Store().GetByKey(key); ok {
		return c.group.Of(svc)
	}
	return -1
}

// reconcileOwn reconciles the keys of shards that this replica holds and has listed, and drops the others. Another
// replica works on those, or enqueueShards brings them back. What was remembered of them would be outdated by then.
func (c *Controller) reconcileOwn(ctx context.Context, key listwatch.Key) (controller.Result, error) {
	if key == unseenKey {
		return c.lookForUnseen(ctx), nil
	}
	shard := c.shardOf(key)
	ctx, done, ok := c.group.Begin(ctx, shard)
	if !ok {
		c.reconciler.memories.forget(key)
		return none, nil
	}
	defer done()
	logger := klog.FromContext(ctx).V(4)
	logger.Info("Pinned", "shard", shard)
	defer logger.Info("Unpinned", "shard", shard)
	return c.reconciler.reconcileIn(ctx, scope{
		owns:      func(svc *corev1.Service) bool { return c.group.Of(svc) == shard },
		showsUpTo: func(ctx context.Context) string { return c.showsUpTo(ctx, shard) },
		label:     c.labelOf(shard),
		unseen:    c.group.hadUnseen(key),
	}, key)
}

// labelOf returns the label of a shard's Ingresses, the zero value if they have none.
func (c *Controller) labelOf(shard int) label {
	if !c.group.byLabel {
		return label{}
	}
	return label{c.opts.Config.shardLabel(), c.group.Label(shard)}
}

// enqueueShards queues the Services of shards that were listed, and the look for what is unseen before them.
func (c *Controller) enqueueShards(listed []int) {
	is := make(map[int]bool, len(listed))
	for _, s := range listed {
		is[s] = true
	}
	for key, svc := range c.services.Store().All() {
		if is[c.group.Of(svc)] {
			c.loop.EnqueueWithPriority(key, controller.LowPriority)
		}
	}
	if c.group.byLabel {
		c.loop.Enqueue(unseenKey)
	}
}

// catchUpTimeout bounds the wait for a store to take over what was read. It takes some milliseconds, unless a list has
// just begun.
const catchUpTimeout = time.Second

// followShards makes an informer that follows the shards. The group runs it.
func followShards[T listwatch.Object](
	c *Controller, cfg *rest.Config, gvr schema.GroupVersionResource, client listwatch.Options,
	opts sharedinformer.Options[T], detector *mutationdetect.Detector,
) (*sharedinformer.Informer[T], error) {
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	client.HTTPClient, client.OnForeign = httpClient, c.group.onForeign
	var informer *follow.Informer[T]
	if c.group.byLabel && gvr.Resource == "ingresses" {
		if err := c.newUnseen(cfg, gvr, listwatch.Options{Namespace: client.Namespace, HTTPClient: httpClient}); err != nil {
			return nil, err
		}
		informer, err = follow.AddLabelled(c.group.Group, c.opts.Config.shardLabel(),
			func(labelSelector string) (listwatch.ListerWatcher[T], error) {
				narrowed := client
				narrowed.LabelSelector = labelSelector
				return listwatch.NewForConfig[T](cfg, gvr, narrowed)
			}, merged.Options[T]{Options: opts})
	} else {
		informer, err = follow.Add(c.group.Group, func(s shard.Selector) (listwatch.ListerWatcher[T], error) {
			narrowed := client
			narrowed.Shard = s
			return listwatch.NewForConfig[T](cfg, gvr, narrowed)
		}, merged.Options[T]{Options: opts})
	}
	if err != nil {
		return nil, err
	}
	if detector != nil {
		c.informers = append(c.informers, func(ctx context.Context) error {
			return detector.Run(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
		})
	}
	if gvr.Resource == "ingresses" {
		c.group.ingressesUpTo = informer.ShowsUpTo
	}
	return informer.Informer.Informer, nil
}

// showsUpTo returns up to which version the store has the Ingresses of a shard, "" while that is not known.
func (c *Controller) showsUpTo(ctx context.Context, shard int) string {
	if c.group.ingressesUpTo == nil {
		return c.ingresses.Store().ResourceVersion()
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	return c.group.ingressesUpTo(ctx, shard)
}

// runShards works on the shards that this replica gets, until ctx ends or another has its name.
func (c *Controller) runShards(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var both errgroup.Group
	both.Go(func() error {
		defer stop()
		return c.group.Run(ctx)
	})
	both.Go(func() error { return c.runLoop(ctx) })
	return both.Wait()
}

// readyShards is Ready with shards. A replica that waits for its turn is ready, unless it is refused a right: then it
// could not begin when its turn has come. While it waits, whoever made waits must have the rights asked for.
func (c *Controller) readyShards() error {
	var errs []error
	if !c.follows("ingresses") {
		errs = append(errs, ready(c.ingresses))
	}
	err := c.group.Ready()
	if c.group.waits == nil || !c.group.waits() || apierrors.IsForbidden(err) {
		errs = append(errs, err)
	}
	if err := c.group.unseenErr.Load(); err != nil {
		errs = append(errs, *err)
	}
	return errors.Join(errs...)
}
