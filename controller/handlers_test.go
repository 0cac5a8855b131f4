package controller

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// pod is a Pod in namespace "ns" of the given version; owner "" has no controller, else it is "apiVersion/kind name".
func pod(version, apiVersion, kind, owner string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", ResourceVersion: version}}
	if owner != "" {
		isController := true
		p.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Node", Name: "not its controller"},
			{APIVersion: apiVersion, Kind: kind, Name: owner, Controller: &isController},
		}
	}
	return p
}

func ownedBy(owner, version string) *corev1.Pod { return pod(version, "apps/v1", "ReplicaSet", owner) }

// enqueued returns "key@priority" of each key that do enqueues, highest priority first.
func enqueued(t *testing.T, make func(*Controller[listwatch.Key]) sharedinformer.Handler[*corev1.Pod],
	do func(h sharedinformer.Handler[*corev1.Pod])) []string {
	t.Helper()
	c := New[listwatch.Key](Func[listwatch.Key](nil), Options[listwatch.Key]{})
	do(make(c))
	var got []string
	for c.Len() > 0 {
		key, priority, _ := c.queue.GetWithPriority()
		got = append(got, fmt.Sprintf("%s@%d", key, priority))
	}
	return got
}

type podHandler = sharedinformer.Handler[*corev1.Pod]

func TestEnqueueObject_InitialListAndResyncYieldToLiveChanges(t *testing.T) {
	p1, p2 := ownedBy("", "1"), ownedBy("", "2")
	for name, c := range map[string]struct {
		do   func(podHandler)
		want string
	}{
		"added":           {func(h podHandler) { h.OnAdd(p1, false) }, "ns/pod@0"},
		"in initial list": {func(h podHandler) { h.OnAdd(p1, true) }, "ns/pod@-100"},
		"updated":         {func(h podHandler) { h.OnUpdate(p1, p2) }, "ns/pod@0"},
		"resync":          {func(h podHandler) { h.OnUpdate(p1, p1) }, "ns/pod@-100"},
		"deleted": {func(h podHandler) {
			h.OnDelete(sharedinformer.Deletion[*corev1.Pod]{Key: listwatch.KeyOf(p1)})
		}, "ns/pod@0"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, []string{c.want}, enqueued(t, EnqueueObject[*corev1.Pod], c.do))
		})
	}
}

func TestEnqueueOwner_EnqueuesTheControllerOfThatKindAndNobodyElse(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(podHandler)
		want []string
	}{
		"added":           {func(h podHandler) { h.OnAdd(ownedBy("a", "1"), false) }, []string{"ns/a@0"}},
		"in initial list": {func(h podHandler) { h.OnAdd(ownedBy("a", "1"), true) }, []string{"ns/a@-100"}},
		"another version": {func(h podHandler) { h.OnAdd(pod("1", "apps/v2", "ReplicaSet", "a"), false) }, []string{"ns/a@0"}},
		"another group":   {func(h podHandler) { h.OnAdd(pod("1", "extensions/v1", "ReplicaSet", "a"), false) }, nil},
		"another kind":    {func(h podHandler) { h.OnAdd(pod("1", "apps/v1", "DaemonSet", "a"), false) }, nil},
		"bad apiVersion":  {func(h podHandler) { h.OnAdd(pod("1", "a/b/c", "ReplicaSet", "a"), false) }, nil},
		"no controller":   {func(h podHandler) { h.OnAdd(ownedBy("", "1"), false) }, nil},
		"updated":         {func(h podHandler) { h.OnUpdate(ownedBy("a", "1"), ownedBy("a", "2")) }, []string{"ns/a@0"}},
		"resync":          {func(h podHandler) { h.OnUpdate(ownedBy("a", "1"), ownedBy("a", "1")) }, []string{"ns/a@-100"}},
		"changed hands":   {func(h podHandler) { h.OnUpdate(ownedBy("a", "1"), ownedBy("b", "2")) }, []string{"ns/b@0", "ns/a@0"}},
		"set free":        {func(h podHandler) { h.OnUpdate(ownedBy("a", "1"), ownedBy("", "2")) }, []string{"ns/a@0"}},
		"deleted": {func(h podHandler) {
			h.OnDelete(sharedinformer.Deletion[*corev1.Pod]{Obj: ownedBy("a", "1")})
		}, []string{"ns/a@0"}},
		"deleted, object not at hand": {func(h podHandler) {
			h.OnDelete(sharedinformer.Deletion[*corev1.Pod]{Key: listwatch.Key{Namespace: "ns", Name: "pod"}})
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			handler := func(c *Controller[listwatch.Key]) podHandler {
				return EnqueueOwner[*corev1.Pod](c, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"})
			}
			assert.Equal(t, c.want, enqueued(t, handler, c.do))
		})
	}
}

func TestEnqueueObject_AHandlerMayRunWhileTheControllerDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := make(chan listwatch.Key, 1)
		c := New[listwatch.Key](Func[listwatch.Key](func(_ context.Context, key listwatch.Key) (Result, error) {
			seen <- key
			return Result{}, nil
		}), Options[listwatch.Key]{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		EnqueueObject[*corev1.Pod](c).OnAdd(ownedBy("", "1"), false)
		assert.Equal(t, listwatch.Key{Namespace: "ns", Name: "pod"}, <-seen)
		stop()
		assert.NoError(t, <-ended)
	})
}
