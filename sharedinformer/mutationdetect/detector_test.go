package mutationdetect

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

func config(name, value, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: version},
		Data:       map[string]string{"value": value},
	}
}

func store(d *Detector, obj *corev1.ConfigMap) *corev1.ConfigMap {
	d.BeforeStore(listwatch.KeyOf(obj), obj)
	return obj
}

// watching runs a detector around nothing while tell runs, in virtual time.
func watching(t *testing.T, tell func(d *Detector, found *[]Mutation)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var found []Mutation
		d := New("configs", func(m Mutation) { found = append(found, m) })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }) }()
		tell(d, &found)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

// modify changes an object of the store, as nobody may. It holds the detector's lock, or -race would find what the detector is to find.
func modify(d *Detector, obj *corev1.ConfigMap, value string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	obj.Data["value"] = value
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestDetector_NamesObjectAndFieldOnce(t *testing.T) {
	watching(t, func(d *Detector, found *[]Mutation) {
		store(d, config("a", "1", "1"))
		b := store(d, config("b", "2", "3"))
		pass(10 * time.Second)
		require.Empty(t, *found, "nobody has touched anything")
		modify(d, b, "mine")
		pass(period)
		require.Equal(t, []Mutation{{
			Informer: "configs", Key: listwatch.KeyOf(b), ResourceVersion: "3",
			Path: `Data["value"]`, Was: "2", Is: "mine",
		}}, *found)
		require.Equal(t, `informer configs: object default/b@3 was modified: Data["value"] was 2 and is mine`, (*found)[0].String())
		pass(time.Minute)
		require.Len(t, *found, 1)
	})
}

func TestDetector_ComparesWhatLeftTheStoreForTwoMinutes(t *testing.T) {
	watching(t, func(d *Detector, found *[]Mutation) {
		first := store(d, config("a", "1", "1"))
		second := store(d, config("a", "2", "2"))
		pass(retain + 2*period)
		modify(d, first, "too late")
		d.BeforeStore(listwatch.KeyOf(second), nil)
		modify(d, second, "seen")
		pass(period)
		require.Len(t, *found, 1)
		require.Equal(t, "2", (*found)[0].Was)
		pass(retain + 2*period)
		require.Empty(t, d.former, "its memory is free")
		require.Empty(t, d.current)
	})
}

func TestDetector_ThatNobodyRunsKeepsNothingForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := New("configs", nil)
		for range 1000 {
			store(d, config("a", "1", "1"))
			pass(time.Second)
		}
		require.LessOrEqual(t, len(d.former), int(retain/time.Second)+1)
		require.GreaterOrEqual(t, len(d.former), int(retain/time.Second))
	})
}

func TestDetector_AResyncDoesNotCoverUpAMutation(t *testing.T) {
	var found []Mutation
	d := New("configs", func(m Mutation) { found = append(found, m) })
	obj := store(d, config("a", "1", "1"))
	obj.Data["value"] = "mine"
	store(d, obj)
	d.check()
	require.Len(t, found, 1)
	require.Equal(t, "1", found[0].Was)
}

func TestDetector_PanicsUnlessToldOtherwise(t *testing.T) {
	d := New("configs", nil)
	obj := store(d, config("a", "1", ""))
	d.check()
	obj.Data["value"] = "2"
	require.PanicsWithValue(t, `informer configs: object default/a@ was modified: Data["value"] was 1 and is 2`, d.check)
}

func TestDetector_IsWantedIfTheEnvironmentSaysSo(t *testing.T) {
	t.Setenv("KUBE_CACHE_MUTATION_DETECTOR", "")
	require.False(t, Wanted())
	t.Setenv("KUBE_CACHE_MUTATION_DETECTOR", "true")
	require.True(t, Wanted())
}

// A handler's last call may end after the informer's last event.
func TestDetector_ComparesOnceMoreAfterTheLastHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var found []Mutation
		d := New("configs", func(m Mutation) { found = append(found, m) })
		list := listwatch.Funcs[*corev1.ConfigMap]{
			ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				items := []corev1.ConfigMap{*config("a", "1", "1")}
				return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: items}, nil
			},
			WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return nil, errors.New("there is nothing to watch")
			},
		}
		opts := sharedinformer.Options[*corev1.ConfigMap]{
			BeforeStore:       d.BeforeStore,
			WatchErrorHandler: func(context.Context, error) {},
		}
		opts.Reflector.DisableStreamingList = true
		informer := sharedinformer.New(listwatch.ListerWatcher[*corev1.ConfigMap](list), opts)
		goOn := make(chan struct{})
		_, err := informer.AddHandler(sharedinformer.HandlerFuncs[*corev1.ConfigMap]{AddFunc: func(obj *corev1.ConfigMap, _ bool) {
			<-goOn
			obj.Labels = map[string]string{"by": "handler"}
		}}, sharedinformer.HandlerOptions{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx, informer.Run) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(goOn)
		require.NoError(t, <-done)
		require.Len(t, found, 1)
		require.Equal(t, `ObjectMeta.Labels["by"]`, found[0].Path)
	})
}

func TestFirstDifference_GoesAsDeepAsItCan(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		seconds := int64(5)
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "1", "b": "2"}},
			Spec:       corev1.PodSpec{TerminationGracePeriodSeconds: &seconds, Containers: []corev1.Container{{Name: "c", Args: []string{"x", "y"}}}},
		}
		change(p)
		return p
	}
	custom := func(value any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"ports": []any{int64(1), value}}}}
	}
	for path, values := range map[string][2]any{
		`ObjectMeta.Labels["b"]`:                  {pod(func(p *corev1.Pod) {}), pod(func(p *corev1.Pod) { p.Labels["b"] = "3" })},
		`ObjectMeta.Labels["c"]`:                  {pod(func(p *corev1.Pod) {}), pod(func(p *corev1.Pod) { p.Labels["c"] = "3" })},
		`ObjectMeta.Labels["a"]`:                  {pod(func(p *corev1.Pod) {}), pod(func(p *corev1.Pod) { delete(p.Labels, "a") })},
		`Spec.Containers[0].Args[1]`:              {pod(func(p *corev1.Pod) {}), pod(func(p *corev1.Pod) { p.Spec.Containers[0].Args[1] = "z" })},
		`Spec.Containers`:                         {pod(func(p *corev1.Pod) {}), pod(func(p *corev1.Pod) { p.Spec.Containers = nil })},
		`Spec.TerminationGracePeriodSeconds`:      {pod(func(p *corev1.Pod) {}), pod(func(p *corev1.Pod) { *p.Spec.TerminationGracePeriodSeconds = 6 })},
		`ObjectMeta.CreationTimestamp.Time.wall`:  {pod(func(p *corev1.Pod) {}), pod(func(p *corev1.Pod) { p.CreationTimestamp.Time = time.Unix(1, 7).UTC() })},
		`Object["spec"]["ports"][1]`:              {custom(int64(2)), custom(int64(3))},
		`Object["spec"]["ports"][1]["protocol"]`:  {custom(map[string]any{"protocol": "TCP"}), custom(map[string]any{"protocol": "UDP"})},
		`Object["spec"]["ports"][1]` + " by type": {custom(int64(2)), custom("2")},
	} {
		d := firstDifference(values[0], values[1])
		if path == `Object["spec"]["ports"][1]`+" by type" {
			path = `Object["spec"]["ports"][1]`
		}
		require.Equal(t, path, d.path)
		require.NotEqual(t, d.was, d.is, path)
	}
}
