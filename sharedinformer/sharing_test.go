package sharedinformer

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/listwatch"
	"glasswatch/listwatch/memo"
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

func TestSharing_IsTheFactorysDefaultUnlessATransformMayWrite(t *testing.T) {
	inPlace := func(obj listwatch.Object) (listwatch.Object, error) {
		obj.GetLabels()["by"] = "transform"
		return obj, nil
	}
	for name, c := range map[string]struct {
		opts FactoryOptions
		want bool
	}{
		"by default":                    {FactoryOptions{}, true},
		"not if it is off":              {FactoryOptions{Sharing: SharingNone}, false},
		"not with a transform":          {FactoryOptions{Transform: inPlace}, false},
		"with one that copies on write": {FactoryOptions{Transform: transform.StripManagedFields[listwatch.Object], TransformCopiesOnWrite: true}, true},
		"with the per-key queue":        {FactoryOptions{Queue: PerKey}, true},
		"with tweaked lists":            {FactoryOptions{TweakListOptions: func(*metav1.ListOptions) {}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			onKube(t, func(k *kube) {
				k.alike()
				f := NewFactory(k.cfg, c.opts)
				informer, err := InformerFor[*config](f)
				require.NoError(k, err)
				f.Start(k.Context())
				defer f.Shutdown()
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

// sharing are the options of a client as the factory makes it.
func sharing() listwatch.Options { return listwatch.Options{Decoder: memo.New(memo.Options{})} }

func TestSharing_TheMutationDetectorNamesAllThatShareTheField(t *testing.T) {
	onKube(t, func(k *kube) {
		k.alike()
		var found []string
		informer := New(k.ConfigMaps(sharing()), Options[*config]{DetectMutations: true, OnMutation: func(m Mutation) {
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
		lw, err := listwatch.NewForConfig[*corev1.Pod](k.cfg, corev1.SchemeGroupVersion.WithResource("pods"), sharing())
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
