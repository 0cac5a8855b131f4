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
	"k8s.io/client-go/informers"

	"glasswatch/compat/cache"
)

func TestInformers_ATransformChangesItsObjectOnly(t *testing.T) {
	for name, c := range map[string]struct {
		transform func(c *corev1.ConfigMap)
		shares    bool
	}{
		"a field of the object": {func(c *corev1.ConfigMap) { c.ManagedFields, c.Data = nil, nil }, true},
		"a label": {func(c *corev1.ConfigMap) {
			if c.Name == "config-0" {
				c.Labels["seen"] = "yes"
			}
		}, true},
		"a part that is shared": {func(c *corev1.ConfigMap) {
			if c.Name > "config-4" {
				delete(c.Data, "value")
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			inTown(t, func(t *testing.T, ctx context.Context, s *town) {
				want := map[string]*corev1.ConfigMap{}
				for n := range 60 {
					s.Put(t, "default", fmt.Sprint("config-5-", n))
				}
				factory := informers.NewSharedInformerFactoryWithOptions(s.client, 0, informers.WithTransform(func(obj any) (any, error) {
					of := obj.(*corev1.ConfigMap)
					copied := of.DeepCopy()
					c.transform(copied)
					want[of.Name] = copied
					c.transform(of)
					return of, nil
				}))
				require.NoError(t, Into(factory, Options{}, &corev1.ConfigMap{}))
				informer := factory.Core().V1().ConfigMaps().Informer()
				run(t, ctx, informer)
				for n := range 40 {
					s.Put(t, "default", fmt.Sprint("config-6-", n))
				}
				synctest.Wait()
				require.Len(t, want, 105)
				for _, obj := range want {
					require.Equal(t, obj, configMap(t, informer, "default/"+obj.Name))
				}
				first, second := configMap(t, informer, "default/config-6-38"), configMap(t, informer, "default/config-6-39")
				first.Labels["mark"] = "x"
				_, shared := second.Labels["mark"]
				require.Equal(t, c.shares, shared)
			})
		})
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
	require.True(t, shares(t, informer, "default/config-3", "default/config-4"))
	<-time.After(time.Minute + time.Second/2) // between two looks of the detector, which come each second
	synctest.Wait()
	configMap(t, informer, "default/config-3").Data["value"] = "mine"
	<-time.After(3 * time.Second)
	require.Equal(t, "mine", configMap(t, informer, "default/config-4").Data["value"])
}
