package ingress

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"glasswatch/controller"
	"glasswatch/listwatch"
)

// unseenKey stands for the list of unseen Ingresses among the keys of Services. No Service has an empty name. An
// Ingress is unseen if it has no label of the present number of shards: no replica's cache has it. See Sharding.
var unseenKey listwatch.Key

const (
	// unseenDelay is the time until the next look at an unseen Ingress that is in the way. No event tells of it.
	unseenDelay = 30 * time.Second
	unseenPage  = 500
)

// newUnseen makes the client that lists unseen Ingresses.
func (c *Controller) newUnseen(cfg *rest.Config, gvr schema.GroupVersionResource, opts listwatch.Options) (err error) {
	labels := make([]string, c.group.shards)
	for s := range labels {
		labels[s] = c.group.Label(s)
	}
	opts.LabelSelector = c.opts.Config.shardLabel() + " notin (" + strings.Join(labels, ",") + ")"
	c.group.unseenClient, err = listwatch.NewMetadata(cfg, gvr, opts)
	return err
}

// lookForUnseen is the reconcile of unseenKey, once after each gain. If it fails, this replica is not ready, and tries
// again.
func (c *Controller) lookForUnseen(ctx context.Context) controller.Result {
	err := c.listUnseen(ctx)
	if err == nil {
		c.group.unseenErr.Store(nil)
		return none
	}
	err = fmt.Errorf("the Ingresses without a label of this division cannot be listed: %w", err)
	c.group.unseenErr.Store(&err)
	klog.FromContext(ctx).Error(err, "Could not look for Ingresses whose Services ask for none")
	return controller.Result{RequeueAfter: maxBackoff}
}

// listUnseen notes the keys of this replica's Services that have an unseen Ingress, and queues those that ask for none:
// the others are queued already. To look for the Ingress of each Service that asks for none would take a request each.
func (c *Controller) listUnseen(ctx context.Context) error {
	c.group.unseen.Clear()
	opts := metav1.ListOptions{Limit: unseenPage}
	for more := true; more; more = opts.Continue != "" {
		page, err := c.pageOfUnseen(ctx, opts)
		if err != nil {
			return err // a token that has expired as well: the next try begins with the first page
		}
		for _, ing := range page.Items {
			key := listwatch.KeyOf(ing)
			c.group.unseen.Store(key, nil) // before the Service is read: a change of it that comes later finds the key
			svc, found := c.services.Store().GetByKey(key)
			if !found || !metav1.IsControlledBy(ing, svc) {
				c.group.unseen.Delete(key)
				continue
			}
			if wants, _ := c.opts.Config.wants(svc); !wants || svc.Spec.Type == corev1.ServiceTypeExternalName {
				c.loop.Enqueue(key) // before those that only get their label
			}
		}
		opts.Continue = page.Continue
	}
	return nil
}

func (c *Controller) pageOfUnseen(
	ctx context.Context, opts metav1.ListOptions,
) (*listwatch.List[*metav1.PartialObjectMetadata], error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return c.group.unseenClient.List(ctx, opts)
}

// hadUnseen reports, once, whether the last list showed an unseen Ingress of this key.
func (g *group) hadUnseen(key listwatch.Key) bool {
	_, had := g.unseen.LoadAndDelete(key)
	return had
}

// readUnseen takes the Ingress of this name from the server, if there is one. A list of one takes no right that the
// cache does not need.
func (l *attempt) readUnseen(ctx context.Context) error {
	named := fields.OneTermEqualSelector("metadata.name", l.key.Name).String()
	list, err := l.client.Ingresses(l.key.Namespace).List(ctx, metav1.ListOptions{FieldSelector: named})
	if err == nil && len(list.Items) > 0 {
		l.ing = &list.Items[0]
	}
	return err
}

// ensureUnseen goes on with the unseen Ingress that has taken the name.
func (l *attempt) ensureUnseen(ctx context.Context, d desired) (controller.Result, error) {
	if err := l.readUnseen(ctx); err != nil {
		return none, err
	}
	if l.ing == nil {
		return none, fmt.Errorf("the Ingress that was in the way of %s has gone", l.key)
	}
	result, err := l.ensure(ctx, d)
	if err == nil && result == none {
		result.RequeueAfter = unseenDelay
	}
	return result, err
}
