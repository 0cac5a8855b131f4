package install

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"

	"glasswatch/compat/cache"
)

// A transform may write to any part of some objects or of all. Others keep what they had, and share it. If the first
// objects do not show that it writes to parts, the first list is asked for again.
func TestInformers_ATransformChangesItsObjectOnly(t *testing.T) {
	for name, c := range map[string]struct {
		transform func(n int, c *corev1.ConfigMap)
		repeats   bool
	}{
		"a field of all":      {func(_ int, c *corev1.ConfigMap) { c.ManagedFields, c.Data = nil, nil }, false},
		"a field built anew":  {func(_ int, c *corev1.ConfigMap) { c.Data = maps.Clone(c.Data) }, false},
		"a field of one":      {func(n int, c *corev1.ConfigMap) { setOf(n == 80, c, nil) }, true},
		"metadata of all":     {func(_ int, c *corev1.ConfigMap) { c.Annotations["seen"] = "yes" }, false},
		"a part of all":       {func(_ int, c *corev1.ConfigMap) { deleteFrom(true, c.Data) }, false},
		"a part of the third": {func(n int, c *corev1.ConfigMap) { deleteFrom(n == 3, c.Data) }, false},
		"a part of one":       {func(n int, c *corev1.ConfigMap) { deleteFrom(n == 80, c.Data) }, true},
		"a part, from the 80": {func(n int, c *corev1.ConfigMap) { deleteFrom(n >= 80, c.Data) }, true},
		"a part of an event":  {func(n int, c *corev1.ConfigMap) { deleteFrom(n == 90, c.Data) }, false},
	} {
		for _, streaming := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", streaming list: ", streaming), func(t *testing.T) {
				clientfeaturestesting.SetFeatureDuringTest(t, features.WatchListClient, streaming)
				inTown(t, func(t *testing.T, ctx context.Context, s *town) { transformTown(t, ctx, s, c.transform, c.repeats) })
			})
		}
	}
}

func transformTown(t *testing.T, ctx context.Context, s *town, transform func(n int, c *corev1.ConfigMap), repeats bool) {
	for n := range 60 {
		s.Put(t, "default", fmt.Sprint("config-5-", n))
	}
	numbers, calls := map[string]int{}, map[string]int{}
	informer, err := NewInformer(s.client, &corev1.ConfigMap{}, Options{}, cache.SharedIndexInformerOptions{})
	require.NoError(t, err)
	require.NoError(t, informer.SetTransform(func(obj any) (any, error) {
		of := obj.(*corev1.ConfigMap)
		if calls[of.Name]++; calls[of.Name] == 1 {
			numbers[of.Name] = len(calls)
		}
		transform(numbers[of.Name], of)
		return of, nil
	}))
	var errs []error
	require.NoError(t, informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { errs = append(errs, err) }))
	run(t, ctx, informer)
	for n := range 40 {
		s.Put(t, "default", fmt.Sprint("config-6-", n))
	}
	synctest.Wait()
	require.Len(t, calls, 100+inhabitants)
	for name, n := range numbers {
		got, err := s.client.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"value": "a value of all"}, got.Data)
		transform(n, got)
		require.Equal(t, got.Data, configMap(t, informer, "default/"+name).Data, name)
		require.Equal(t, got.Annotations, configMap(t, informer, "default/"+name).Annotations, name)
		want := 1
		if repeats && n <= 60+inhabitants {
			want = 2
		}
		require.Equal(t, want, calls[name], name)
	}
	for _, pair := range [][2]string{{"config-5-58", "config-5-59"}, {"config-6-38", "config-6-39"}, {"config-5-57", "config-6-37"}} {
		first, second := configMap(t, informer, "default/"+pair[0]), configMap(t, informer, "default/"+pair[1])
		first.Labels["mark"] = "x"
		require.Contains(t, second.Labels, "mark")
		delete(first.Labels, "mark")
	}
	require.Empty(t, errs)
}

func setOf(wanted bool, c *corev1.ConfigMap, data map[string]string) {
	if wanted {
		c.Data = data
	}
}

func deleteFrom(wanted bool, data map[string]string) {
	if wanted {
		delete(data, "value")
	}
}

const writesToItsCache = "GLASSWATCH_WRITES_TO_SHARED_PARTS"

// A detector that finds something ends the process. So the test runs itself once more, in a process of its own.
func TestInformers_WritesToSharedPartsAreDetectedIfTheEnvironmentAsks(t *testing.T) {
	if os.Getenv(writesToItsCache) != "" {
		inTown(t, writeToASharedPart)
		return
	}
	again := func(detector string) (string, error) {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), writesToItsCache+"=1", "KUBE_CACHE_MUTATION_DETECTOR="+detector)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := again("true")
	require.Error(t, err)
	require.Contains(t, out, "informer *v1.ConfigMap: object default/config-")
	require.Contains(t, out, "was modified: Data")

	out, err = again("false")
	require.NoError(t, err, out)
}

func writeToASharedPart(t *testing.T, ctx context.Context, s *town) {
	informer, err := NewInformer(s.client, &corev1.ConfigMap{}, Options{}, cache.SharedIndexInformerOptions{})
	require.NoError(t, err)
	run(t, ctx, informer)
	require.True(t, shares(t, informer, "default/config-8", "default/config-9"))
	<-time.After(time.Minute + time.Second/2) // between two looks of the detector, which come each second
	synctest.Wait()
	configMap(t, informer, "default/config-8").Data["value"] = "mine"
	<-time.After(3 * time.Second)
	require.Equal(t, "mine", configMap(t, informer, "default/config-9").Data["value"])
}
