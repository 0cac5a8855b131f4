package sharded

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/controller"
	"glasswatch/controller/ingress"
	"glasswatch/listwatch"
)

// unseenKey stands for the list of unseen Ingresses among the keys of Services. No Service has an empty name. An
// Ingress is unseen if it has no label of the present number of shards: no replica's cache has it. See doc.go.
var (
	unseenKey listwatch.Key
	none      controller.Result
)

const (
	// unseenDelay is the time until the next look at an unseen Ingress that is in the way. No event tells of it.
	unseenDelay = 30 * time.Second
	unseenPage  = 500
	// listAgainDelay is the time until a list that failed is tried again, and requestTimeout that of one request.
	listAgainDelay = 10 * time.Second
	requestTimeout = 30 * time.Second
)

// newUnseen makes the client that lists unseen Ingresses.
func (c *Controller) newUnseen(cfg *rest.Config, gvr schema.GroupVersionResource, opts listwatch.Options) (err error) {
	labels := make([]string, c.shards)
	for s := range labels {
		labels[s] = c.group.Label(s)
	}
	opts.LabelSelector = c.label + " notin (" + strings.Join(labels, ",") + ")"
	c.unseen.client, err = listwatch.NewMetadata(cfg, gvr, opts)
	return err
}

// lookForUnseen is the reconcile of unseenKey, once after each gain. If it fails, this replica is not ready, and tries
// again.
func (c *Controller) lookForUnseen(ctx context.Context) controller.Result {
	err := c.listUnseen(ctx)
	if err == nil {
		c.unseen.err.Store(nil)
		return none
	}
	err = fmt.Errorf("the Ingresses without a label of this division cannot be listed: %w", err)
	c.unseen.err.Store(&err)
	klog.FromContext(ctx).Error(err, "Could not look for Ingresses whose Services ask for none")
	return controller.Result{RequeueAfter: listAgainDelay}
}

// listUnseen notes the keys of this replica's Services that have an unseen Ingress, and queues those that ask for none:
// the others are queued already. To look for the Ingress of each Service that asks for none would take a request each.
func (c *Controller) listUnseen(ctx context.Context) error {
	c.listed.Clear()
	opts := metav1.ListOptions{Limit: unseenPage}
	for more := true; more; more = opts.Continue != "" {
		page, err := c.pageOfUnseen(ctx, opts)
		if err != nil {
			return err // a token that has expired as well: the next try begins with the first page
		}
		for _, ing := range page.Items {
			key := listwatch.KeyOf(ing)
			c.listed.Store(key, nil) // before the Service is read: a change of it that comes later finds the key
			svc, found := c.Services().Store().GetByKey(key)
			if !found || !metav1.IsControlledBy(ing, svc) {
				c.listed.Delete(key)
				continue
			}
			if !c.config.Asks(svc) {
				c.Loop().Enqueue(key) // before those that only get their label
			}
		}
		opts.Continue = page.Continue
	}
	return nil
}

func (c *Controller) pageOfUnseen(
	ctx context.Context, opts metav1.ListOptions,
) (*listwatch.List[*metav1.PartialObjectMetadata], error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return c.unseen.client.List(ctx, opts)
}

// hadUnseen reports, once, whether the last list showed an unseen Ingress of this key.
func (u *unseen) hadUnseen(key listwatch.Key) bool {
	_, had := u.listed.LoadAndDelete(key)
	return had
}

// reconcile reconciles with what the cache has. If an unseen Ingress may be in the way of a creation, or be left of a
// Service that asks for none, it reconciles once more with that one.
func (u *unseen) reconcile(
	ctx context.Context, config ingress.Config, r *ingress.Reconciler, view ingress.View, key listwatch.Key,
) (controller.Result, error) {
	svc, found := view.Services.GetByKey(key)
	_, seen := view.Ingresses.GetByKey(key)
	asks := found && config.Asks(svc)
	mayHave := u.noteMayHave(key, svc, u.hadUnseen(key) || asks || seen)
	result, err := r.In(view).Reconcile(ctx, key)
	_, came := view.Ingresses.GetByKey(key)
	seen = seen || came // then it has been looked at, or its event enqueues the key
	inTheWay := asks && apierrors.IsAlreadyExists(err)
	isLeft := found && svc.DeletionTimestamp == nil && !asks && err == nil && result == none
	switch {
	case isLeft && mayHave && !seen, inTheWay && !seen:
	case isLeft:
		u.mayHave.Delete(key) // it had one in the cache, and that is deleted or another's
		return result, err
	default:
		return result, err
	}
	there, err := readUnseen(ctx, r, key)
	if err != nil {
		return none, err
	}
	switch {
	case there == nil && inTheWay:
		return none, fmt.Errorf("the Ingress that was in the way of %s has gone", key)
	case there != nil:
		view.Ingresses = with{view.Ingresses, there}
		result, err = r.In(view).Reconcile(ctx, key)
	}
	switch {
	case err != nil:
	case inTheWay && result == none:
		result.RequeueAfter = unseenDelay
	case isLeft && result != none: // its deletion was refused: it stays
	case isLeft:
		u.mayHave.Delete(key)
	}
	return result, err
}

// noteMayHave returns whether the Service may have an Ingress: it has if it may, or may as it was noted before.
func (u *unseen) noteMayHave(key listwatch.Key, svc *corev1.Service, may bool) bool {
	if svc == nil {
		u.mayHave.Delete(key)
		return false
	}
	if may {
		u.mayHave.Store(key, svc.UID)
	}
	uid, noted := u.mayHave.Load(key)
	return noted && uid == svc.UID
}

// readUnseen takes the Ingress of this name from the server, nil if there is none. A list of one takes no right that the
// cache does not need.
func readUnseen(ctx context.Context, r *ingress.Reconciler, key listwatch.Key) (*networkingv1.Ingress, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	named := fields.OneTermEqualSelector("metadata.name", key.Name).String()
	list, err := r.Client().Ingresses(key.Namespace).List(ctx, metav1.ListOptions{FieldSelector: named})
	if err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}

// with are the Ingresses of a cache, and one that it does not have.
type with struct {
	ingress.Cache[*networkingv1.Ingress]
	one *networkingv1.Ingress
}

// GetByKey is asked for the key of that one only.
func (w with) GetByKey(listwatch.Key) (*networkingv1.Ingress, bool) { return w.one, true }
