package sharded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/controller"
	"glasswatch/controller/ingress"
	"glasswatch/controller/shards"
	"glasswatch/controller/shards/follow"
	shardmetrics "glasswatch/controller/shards/metrics"
	"glasswatch/listwatch"
	"glasswatch/listwatch/shard"
	"glasswatch/sharedinformer"
	"glasswatch/sharedinformer/merged"
)

// Sharding says what the shards divide by, and who this replica is.
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

// Controller is an ingress controller that works on its shards.
type Controller struct {
	*ingress.Controller
	group   *follow.Group
	by      shard.Field
	byLabel bool
	shards  int
	label   string      // the label's key
	waits   func() bool // may be nil
	config  ingress.Config
	// onForeign is told of each object of another shard that the server sent; nil without metrics.
	onForeign func()
	// services is what the reconciler sees: the store of Services.
	services ingress.Cache[*corev1.Service]
	// ingressesUpTo is nil if all Ingresses are watched.
	ingressesUpTo func(ctx context.Context, shard int) string
	unseen
}

// unseen is what is known of Ingresses that no replica's cache has. It is empty without byLabel.
type unseen struct {
	client *listwatch.Client[*metav1.PartialObjectMetadata] // lists them
	listed sync.Map                                         // the keys of Services that had one at the last list, until they are reconciled
	err    atomic.Pointer[error]                            // what became of that list
	// mayHave has the UID of a key's Service if that asked for an Ingress, or was seen to have one, since it was last
	// known to have none.
	mayHave sync.Map
}

// New returns an error for options that cannot work; it does not talk to the cluster. It sets opts.Hooks.
func New(cfg *rest.Config, opts ingress.Options, s Sharding) (c *Controller, err error) {
	if s.ByLabel && s.By != shard.UID {
		return nil, fmt.Errorf("shards: ByLabel is for %s, got %s", shard.UID, s.By)
	}
	member := s.Member
	member.OnChange = nil
	member.Shards = cmp.Or(member.Shards, 256) // the default
	c = &Controller{
		by: s.By, byLabel: s.ByLabel, shards: member.Shards, waits: s.Waits, config: opts.Config,
		label: opts.Config.AnnotationPrefix + "/shard",
	}
	var metrics follow.Metrics
	if opts.Registerer != nil {
		count := func() (int, int) { return c.group.Largest() }
		metrics, c.onForeign, err = shardmetrics.Register(opts.Registerer, member.Name, count)
		if err != nil {
			return nil, err
		}
	}
	c.group, err = follow.New(s.Leases, follow.Options{
		Member: member, Field: s.By, Metrics: metrics, OnListed: c.enqueueShards,
	})
	if err != nil {
		return nil, err
	}
	opts.Hooks = ingress.Hooks{Services: c.followServices, Reconcile: c.reconcile, Work: c.work, Ready: c.ready}
	if s.By == shard.Namespace || s.ByLabel {
		opts.Hooks.Ingresses = c.followIngresses
	}
	c.Controller, err = ingress.New(cfg, opts)
	if err != nil {
		return nil, err
	}
	c.services = c.Services().Store()
	return c, nil
}

// shardOf returns the shard of a key, -1 for that of a Service that is not in the store.
func (c *Controller) shardOf(key listwatch.Key) int {
	if c.by == shard.Namespace {
		return c.group.OfValue(key.Namespace)
	}
	if svc, ok := c.Services().Store().GetByKey(key); ok {
		return c.group.Of(svc)
	}
	return -1
}

// reconcile reconciles the keys of shards that this replica holds and has listed, and drops the others. Another
// replica works on those, or enqueueShards brings them back. What was remembered of them would be outdated by then.
func (c *Controller) reconcile(ctx context.Context, key listwatch.Key) (controller.Result, error) {
	if key == unseenKey {
		return c.lookForUnseen(ctx), nil
	}
	shard := c.shardOf(key)
	ctx, done, ok := c.group.Begin(ctx, shard)
	if !ok {
		c.Reconciler().Forget(key)
		c.mayHave.Delete(key)
		return controller.Result{}, nil
	}
	defer done()
	logger := klog.FromContext(ctx).V(4)
	logger.Info("Pinned", "shard", shard)
	defer logger.Info("Unpinned", "shard", shard)
	view := ingress.View{
		Services:  ownServices{c.services, func(svc *corev1.Service) bool { return c.group.Of(svc) == shard }},
		Ingresses: upTo{c.Ingresses().Store(), func() string { return c.showsUpTo(ctx, shard) }},
	}
	if !c.byLabel {
		return c.Reconciler().In(view).Reconcile(ctx, key)
	}
	view.Label = ingress.Label{Key: c.label, Value: c.group.Label(shard)}
	return c.unseen.reconcile(ctx, c.config, c.Reconciler(), view, key)
}

// ownServices are those that are this reconcile's business. A Service that was made again may be another replica's.
type ownServices struct {
	ingress.Cache[*corev1.Service]
	owns func(*corev1.Service) bool
}

func (s ownServices) GetByKey(key listwatch.Key) (*corev1.Service, bool) {
	svc, found := s.Cache.GetByKey(key)
	if !found || !s.owns(svc) {
		return nil, false // its own event enqueues the key again
	}
	return svc, true
}

// upTo are Ingresses with the version up to which the cache has those of a shard.
type upTo struct {
	ingress.Cache[*networkingv1.Ingress]
	version func() string // "" if that is not known at the moment
}

// ResourceVersion is older than every write while the version is not known.
func (i upTo) ResourceVersion() string { return cmp.Or(i.version(), "1") }

// enqueueShards queues the Services of shards that were listed, and the look for what is unseen before them.
func (c *Controller) enqueueShards(listed []int) {
	is := make(map[int]bool, len(listed))
	for _, s := range listed {
		is[s] = true
	}
	for key, svc := range c.Services().Store().All() {
		if is[c.group.Of(svc)] {
			c.Loop().EnqueueWithPriority(key, controller.LowPriority)
		}
	}
	if c.byLabel {
		c.Loop().Enqueue(unseenKey)
	}
}

// followServices makes the informer of Services, which the group runs.
func (c *Controller) followServices(
	cfg *rest.Config, from ingress.Source, opts sharedinformer.Options[*corev1.Service],
) (*sharedinformer.Informer[*corev1.Service], error) {
	informer, err := followShards(c, cfg, from, opts)
	if err != nil {
		return nil, err
	}
	return informer.Informer.Informer, nil
}

// followIngresses is followServices for Ingresses.
func (c *Controller) followIngresses(
	cfg *rest.Config, from ingress.Source, opts sharedinformer.Options[*networkingv1.Ingress],
) (informer *sharedinformer.Informer[*networkingv1.Ingress], err error) {
	follows := followShards[*networkingv1.Ingress]
	if c.byLabel {
		follows = c.followLabels
	}
	following, err := follows(c, cfg, from, opts)
	if err != nil {
		return nil, err
	}
	c.ingressesUpTo = following.ShowsUpTo
	return following.Informer.Informer, nil
}

func followShards[T listwatch.Object](
	c *Controller, cfg *rest.Config, from ingress.Source, opts sharedinformer.Options[T],
) (*follow.Informer[T], error) {
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	from.Client.HTTPClient, from.Client.OnForeign = httpClient, c.onForeign
	return follow.Add(c.group, func(s shard.Selector) (listwatch.ListerWatcher[T], error) {
		narrowed := from.Client
		narrowed.Shard = s
		return listwatch.NewForConfig[T](cfg, from.GVR, narrowed)
	}, merged.Options[T]{Options: opts})
}

// followLabels is followShards by the label of the Ingresses.
func (c *Controller) followLabels(
	_ *Controller, cfg *rest.Config, from ingress.Source, opts sharedinformer.Options[*networkingv1.Ingress],
) (*follow.Informer[*networkingv1.Ingress], error) {
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	from.Client.HTTPClient, from.Client.OnForeign = httpClient, c.onForeign
	unseen := listwatch.Options{Namespace: from.Client.Namespace, HTTPClient: httpClient}
	if err := c.newUnseen(cfg, from.GVR, unseen); err != nil {
		return nil, err
	}
	return follow.AddLabelled(c.group, c.label, func(selector string) (listwatch.ListerWatcher[*networkingv1.Ingress], error) {
		narrowed := from.Client
		narrowed.LabelSelector = selector
		return listwatch.NewForConfig[*networkingv1.Ingress](cfg, from.GVR, narrowed)
	}, merged.Options[*networkingv1.Ingress]{Options: opts})
}

// catchUpTimeout bounds the wait for a store to take over what was read. It takes some milliseconds, unless a list has
// just begun.
const catchUpTimeout = time.Second

// showsUpTo returns up to which version the store has the Ingresses of a shard, "" while that is not known.
func (c *Controller) showsUpTo(ctx context.Context, shard int) string {
	if c.ingressesUpTo == nil {
		return c.Ingresses().Store().ResourceVersion()
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	return c.ingressesUpTo(ctx, shard)
}

// work works on the shards that this replica gets, until ctx ends or another has its name.
func (c *Controller) work(ctx context.Context, loop func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var both errgroup.Group
	both.Go(func() error {
		defer stop()
		return c.group.Run(ctx)
	})
	both.Go(func() error { return loop(ctx) })
	return both.Wait()
}

// ready is about the shards. A replica that waits for its turn is ready, unless it is refused a right: then it
// could not begin when its turn has come. While it waits, whoever made waits must have the rights asked for.
func (c *Controller) ready() error {
	var errs []error
	err := c.group.Ready()
	if c.waits == nil || !c.waits() || apierrors.IsForbidden(err) {
		errs = append(errs, err)
	}
	if err := c.unseen.err.Load(); err != nil {
		errs = append(errs, *err)
	}
	return errors.Join(errs...)
}
