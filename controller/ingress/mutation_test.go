package ingress

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/controller/ingress/ingresstest"
)

const breaksTheRule = "GLASSWATCH_WRITES_TO_ITS_CACHE"

// A detector that finds something ends the process. So the test runs itself once more, in a process of its own.
func TestController_WritesToTheCacheAreDetectedIfTheEnvironmentAsks(t *testing.T) {
	if os.Getenv(breaksTheRule) != "" {
		writeToTheCache(t)
		return
	}
	again := func(detector string) (string, error) {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), breaksTheRule+"=1", "KUBE_CACHE_MUTATION_DETECTOR="+detector)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := again("true")
	require.Error(t, err)
	require.Contains(t, out, `informer services: object default/a@`)
	require.Contains(t, out, `was modified: ObjectMeta.Labels`)

	out, err = again("false")
	require.NoError(t, err, out)
}

func writeToTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		world, cfg, served := ingresstest.Serve(ctx, t)
		require.NoError(t, world.Play(ctx, ingresstest.Move{Kind: "create", Name: "a"}))
		c, err := New(cfg, Options{Config: testConfig, Workers: 2})
		require.NoError(t, err)
		working, stop := context.WithCancel(ctx)
		ran := make(chan error, 1)
		go func() { ran <- c.Run(working) }()
		<-time.After(time.Minute + time.Second/2) // between two looks of the detector, which come each second
		synctest.Wait()
		for _, svc := range c.services.Store().List() {
			if svc.Name == "a" {
				svc.Labels = map[string]string{"mine": "yes"}
			}
		}
		<-time.After(3 * time.Second)
		stop()
		require.NoError(t, <-ran)
		cancel()
		require.NoError(t, <-served)
	})
}
