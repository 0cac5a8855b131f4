package sharedinformer

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer/transform"
)

// alike makes config maps that differ in their names, often enough that the last two share what can be shared.
func (k *kube) alike() {
	for n := range 5 {
		k.Create(fmt.Sprint("config-", n), "a value of all", map[string]string{"app": "shop"})
	}
}

// lastTwo returns the last objects of alike as the informer's store has them.
func (k *kube) lastTwo(informer *Informer[*config]) (a, b *config) {
	k.Helper()
	for n, obj := range []**config{&a, &b} {
		var ok bool
		*obj, ok = informer.Store().GetByKey(named(fmt.Sprint("config-", n+3)))
		require.True(k, ok)
	}
	require.Equal(k, a.Data, b.Data)
	require.Equal(k, a.Labels, b.Labels)
	return a, b
}

func isSameMap(a, b map[string]string) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

func TestSharing_IsOnForWhatIsDecodedUnlessATransformMayWriteIntoIt(t *testing.T) {
	inPlace := func(obj *config) (*config, error) { obj.Labels["by"] = "transform"; return obj, nil }
	for name, c := range map[string]struct {
		opts Options[*config]
		want bool
	}{
		"by default":                      {Options[*config]{}, true},
		"not if it is off":                {Options[*config]{Sharing: SharingNone}, false},
		"not with a transform":            {Options[*config]{Transform: inPlace}, false},
		"with one that copies on write":   {Options[*config]{Transform: transform.StripManagedFields[*config], TransformCopiesOnWrite: true}, true},
		"after a transform, if asked for": {Options[*config]{Transform: inPlace, Sharing: SharingAll}, true},
		"with the per-key queue":          {Options[*config]{Queue: PerKey}, true},
	} {
		t.Run(name, func(t *testing.T) {
			onKube(t, func(k *kube) {
				k.alike()
				informer := New(k.ConfigMaps(listwatch.Options{}), c.opts)
				stop := k.Run(informer)
				defer stop()
				require.NoError(k, informer.WaitForSync(k.Context()))
				a, b := k.lastTwo(informer)
				require.Equal(k, c.want, isSameMap(a.Labels, b.Labels))
				require.Equal(k, c.want, isSameMap(a.Data, b.Data))
				if c.opts.Transform != nil && !c.opts.TransformCopiesOnWrite {
					require.Equal(k, map[string]string{"app": "shop", "by": "transform"}, b.Labels)
				}
			})
		})
	}
}

func TestSharing_GoesThroughWrappersAndMerges(t *testing.T) {
	onKube(t, func(k *kube) {
		k.alike()
		f := NewFactory(k.cfg, FactoryOptions{TweakListOptions: func(*metav1.ListOptions) {}})
		fromFactory, err := InformerFor[*config](f)
		require.NoError(k, err)
		merged, err := NewMerged([]Source[*config]{{Name: "all", ListerWatcher: k.ConfigMaps(listwatch.Options{})}}, MergedOptions[*config]{})
		require.NoError(k, err)
		off, err := NewMerged([]Source[*config]{{Name: "all", ListerWatcher: k.ConfigMaps(listwatch.Options{})}},
			MergedOptions[*config]{Options: Options[*config]{Sharing: SharingNone}})
		require.NoError(k, err)
		f.Start(k.Context())
		defer f.Shutdown()
		defer k.Run(merged.Informer)()
		defer k.Run(off.Informer)()
		for informer, want := range map[*Informer[*config]]bool{fromFactory: true, merged.Informer: true, off.Informer: false} {
			require.NoError(k, informer.WaitForSync(k.Context()))
			a, b := k.lastTwo(informer)
			require.Equal(k, want, isSameMap(a.Labels, b.Labels))
		}
	})
}

// Its fields are all in one map, so that no transform can write into them alone: not StripManagedFields either.
func TestSharing_NoUnstructuredObjectSharesPartsBeforeATransform(t *testing.T) {
	type untyped = *unstructured.Unstructured
	for name, c := range map[string]struct {
		opts Options[untyped]
		want bool
	}{
		"by default":       {Options[untyped]{}, true},
		"with a transform": {Options[untyped]{Transform: transform.StripManagedFields[untyped], TransformCopiesOnWrite: true}, false},
		"after it, if asked for": {Options[untyped]{
			Transform: transform.StripManagedFields[untyped], TransformCopiesOnWrite: true, Sharing: SharingAll,
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			onKube(t, func(k *kube) {
				k.alike()
				lw, err := listwatch.NewUnstructured(k.cfg, corev1.SchemeGroupVersion.WithResource("configmaps"), listwatch.Options{})
				require.NoError(k, err)
				informer := New(lw, c.opts)
				ctx, cancel := context.WithCancel(k.Context())
				var running sync.WaitGroup
				running.Go(func() { _ = informer.Run(ctx) })
				defer running.Wait()
				defer cancel()
				require.NoError(k, informer.WaitForSync(k.Context()))
				var data []any
				for _, name := range []string{"config-3", "config-4"} {
					obj, ok := informer.Store().GetByKey(named(name))
					require.True(k, ok)
					data = append(data, obj.Object["data"])
				}
				require.Equal(k, data[0], data[1])
				require.Equal(k, c.want, reflect.ValueOf(data[0]).UnsafePointer() == reflect.ValueOf(data[1]).UnsafePointer())
			})
		})
	}
}

// The objects of these may have other owners.
func TestSharing_OtherListerWatchersShareOnlyIfAskedFor(t *testing.T) {
	for sharing, want := range map[Sharing]bool{SharingDecoded: false, SharingAll: true, SharingNone: false} {
		t.Run(sharing.String(), func(t *testing.T) {
			inVirtualTime(t, Options[*config]{Sharing: sharing}, func(s *story) {
				for _, name := range []string{"a", "b"} {
					s.server.PutLabelled(named(name), map[string]string{"app": strings.Clone("shop")})
				}
				s.Start()
				require.Equal(s, want, isSameMap(s.object("a").Labels, s.object("b").Labels))
			})
		})
	}
	require.Equal(t, "Sharing(9)", Sharing(9).String())
}

// A wrapper that says it shares when what it wraps does not would keep SharingAll from doing it.
func TestSharing_NoWrapperSharesMoreThanWhatItWraps(t *testing.T) {
	tweak := func(*metav1.ListOptions) {}
	for name, below := range map[string]listwatch.ListerWatcher[*config]{
		"someone's own":    listwatch.Funcs[*config]{},
		"a wrapper of one": tweaked[*config]{listwatch.Funcs[*config]{}, tweak},
	} {
		t.Run(name, func(t *testing.T) {
			shared, ok := listwatch.SharingOf(listwatch.ListerWatcher[*config](tweaked[*config]{below, tweak}), transform.Share[*config]())
			require.False(t, ok)
			require.NotNil(t, shared)
		})
	}
}

func TestSharing_TheMutationDetectorNamesAllThatShareTheField(t *testing.T) {
	onKube(t, func(k *kube) {
		k.alike()
		var found []string
		informer := New(k.ConfigMaps(listwatch.Options{}), Options[*config]{DetectMutations: true, OnMutation: func(m Mutation) {
			found = append(found, m.Key.Name+" "+m.Path)
		}})
		stop := k.Run(informer)
		require.NoError(k, informer.WaitForSync(k.Context()))
		a, _ := k.lastTwo(informer)
		informer.mutated.mu.Lock() // or the race detector would be the first to tell
		a.Labels["app"] = "mine"
		informer.mutated.mu.Unlock()
		pass(2 * mutationPeriod)
		stop()
		slices.Sort(found)
		require.Subset(k, found, []string{`config-3 ObjectMeta.Labels["app"]`, `config-4 ObjectMeta.Labels["app"]`})
	})
}

func TestSharing_QuantitiesMayBePrintedAndSlicesAppendedTo(t *testing.T) {
	onKube(t, func(k *kube) {
		size := quantity.MustParse("1Gi")
		for n := range 6 {
			_, err := k.client.CoreV1().Pods("default").Create(k.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", n)},
				Spec: corev1.PodSpec{
					Containers:  []corev1.Container{{Name: "main", Image: "web:1", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"memory": size}}}},
					Volumes:     []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &size}}}},
					Tolerations: []corev1.Toleration{{Key: "a", Operator: "Exists"}},
				},
			}, metav1.CreateOptions{})
			require.NoError(k, err)
		}
		lw, err := listwatch.NewForConfig[*corev1.Pod](k.cfg, corev1.SchemeGroupVersion.WithResource("pods"), listwatch.Options{Namespace: "default"})
		require.NoError(k, err)
		informer := New(lw, Options[*corev1.Pod]{})
		var read sync.WaitGroup
		_, err = informer.AddHandler(HandlerFuncs[*corev1.Pod]{AddFunc: func(pod *corev1.Pod, _ bool) {
			read.Go(func() {
				_ = pod.Spec.Volumes[0].EmptyDir.SizeLimit.String()
				_ = pod.Spec.Containers[0].Resources.Limits.Memory().String()
				more := append(pod.Spec.Tolerations, corev1.Toleration{Key: pod.Name})
				require.Equal(k, pod.Name, more[len(more)-1].Key)
			})
		}}, HandlerOptions{})
		require.NoError(k, err)
		ctx, cancel := context.WithCancel(k.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		running.Go(func() { _ = informer.Run(ctx) })
		require.NoError(k, informer.WaitForSync(k.Context()))
		pass(time.Second)
		read.Wait()
		a, _ := informer.Store().GetByKey(named("pod-4"))
		b, _ := informer.Store().GetByKey(named("pod-5"))
		require.Same(k, &a.Spec.Tolerations[0], &b.Spec.Tolerations[0])
		require.NotSame(k, a.Spec.Volumes[0].EmptyDir.SizeLimit, b.Spec.Volumes[0].EmptyDir.SizeLimit)
	})
}
