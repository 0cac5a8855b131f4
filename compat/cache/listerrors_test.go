package cache

//lint:file-ignore SA1019 Programs whose functions take no context are served, too.

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// failingLists answers lists with errs first, and then with one object at version 4.
func failingLists(errs ...error) *ListWatch {
	return &ListWatch{
		ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
			if err := pop(&errs); err != nil {
				return nil, err
			}
			return &corev1.ConfigMapList{
				ListMeta: metav1.ListMeta{ResourceVersion: "4"}, Items: []corev1.ConfigMap{*configMap("a", "1")},
			}, nil
		},
		WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
	}
}

func TestListErrors_ReachTheHandlerAsOftenAsInClientGo(t *testing.T) {
	expired := apierrors.NewResourceExpired("expired")
	tooLarge := apierrors.NewTimeoutError("Too large resource version", 1)
	since1Dot18 := apierrors.NewTimeoutError("wait", 1)
	since1Dot18.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	table := stories{}
	for name, errs := range map[string][]error{
		"expired":             {expired},
		"expired twice":       {expired, expired},
		"gone":                {apierrors.NewGone("gone")},
		"too large":           {tooLarge},
		"too large, by cause": {since1Dot18},
		"expired, then large": {expired, tooLarge},
		"internal":            {apierrors.NewInternalError(errors.New("x"))},
		"internal, too large": {apierrors.NewInternalError(errors.New("Too large resource version"))},
		"forbidden":           {apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "", nil)},
		"too many":            {apierrors.NewTooManyRequests("busy", 0)},
		"no status":           {errors.New("x"), errors.New("y")},
		"neither":             {errors.New("x"), expired, errors.New("y")},
	} {
		table[name] = func(t *testing.T, c *transcript) {
			informer := c.informer(t, paged(c.noted(failingLists(errs...))))
			stop := running(informer.RunWithContext)
			pass(time.Minute)
			c.state(informer)
			stop()
		}
	}
	table["an expired page"] = func(t *testing.T, c *transcript) {
		informer := c.informer(t, paged(c.noted(&ListWatch{
			ListFunc: func(opts metav1.ListOptions) (runtime.Object, error) {
				if opts.Continue != "" {
					return nil, expired
				}
				list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "4"}}
				if opts.Limit > 0 {
					list.Continue = "more"
				}
				return list, nil
			},
			WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
		})))
		defer running(informer.RunWithContext)()
		c.state(informer)
	}
	table.compare(t)
}

// What client-go lists again after a wait, with the same version, is listed at once without a version here. The server
// may be one that cannot read it.
func TestListErrors_ABadRequestIsRepeatedAtOnceWithoutAVersion(t *testing.T) {
	withBoth(t, func(t *testing.T, m machinery, s *village) {
		c := &transcript{machinery: m, server: s}
		informer := c.informer(t, paged(c.noted(failingLists(apierrors.NewBadRequest("x")))))
		stop := running(informer.RunWithContext)
		pass(time.Minute)
		stop()
		second := `later, list from "0", match "", limit 500, continue ""`
		if m.name == ourMachinery.name {
			second = `at once, list from "", match "", limit 500, continue ""`
		}
		require.Equal(t, second, c.copied()[2])
		c.events.Expect(t, "initial a@1")
	})
}
