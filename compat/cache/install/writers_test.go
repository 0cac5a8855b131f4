package install

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"

	"glasswatch/compat/cache"
)

// A transform may write to any part of some objects or of all. Others keep what they had, and share it.
func TestInformers_ATransformChangesItsObjectOnly(t *testing.T) {
	for name, transform := range map[string]func(n int, c *corev1.ConfigMap){
		"a field of all":      func(_ int, c *corev1.ConfigMap) { c.ManagedFields, c.BinaryData = nil, nil },
		"a part of all":       func(_ int, c *corev1.ConfigMap) { deleteFrom(true, c.Data) },
		"a part of one":       func(n int, c *corev1.ConfigMap) { deleteFrom(n == 80, c.Data) },
		"a part, from the 80": func(n int, c *corev1.ConfigMap) { deleteFrom(n >= 80, c.Data) },
	} {
		t.Run(name, func(t *testing.T) {
			inTown(t, func(t *testing.T, ctx context.Context, s *town) {
				for n := range 60 {
					s.Put(t, "default", fmt.Sprint("config-5-", n))
				}
				calls := map[string]int{}
				factory := informers.NewSharedInformerFactoryWithOptions(s.client, 0, informers.WithTransform(func(obj any) (any, error) {
					of := obj.(*corev1.ConfigMap)
					calls[of.Name] = len(calls) + 1
					transform(calls[of.Name], of)
					return of, nil
				}))
				require.NoError(t, Into(factory, Options{}, &corev1.ConfigMap{}))
				informer := factory.Core().V1().ConfigMaps().Informer()
				run(t, ctx, informer)
				for n := range 40 {
					s.Put(t, "default", fmt.Sprint("config-6-", n))
				}
				synctest.Wait()
				require.Len(t, calls, 100+inhabitants)
				for name, n := range calls {
					got, err := s.client.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
					require.NoError(t, err)
					require.Equal(t, map[string]string{"value": "a value of all"}, got.Data)
					transform(n, got)
					require.Equal(t, got.Data, configMap(t, informer, "default/"+name).Data, name)
				}
				first, second := configMap(t, informer, "default/config-6-38"), configMap(t, informer, "default/config-6-39")
				first.Labels["mark"] = "x"
				require.Contains(t, second.Labels, "mark")
			})
		})
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
