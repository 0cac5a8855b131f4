package ingress

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"glasswatch/controller/ingress/ingresstest"
	"glasswatch/internal/apiserver"
	"glasswatch/listwatch"
)

// replica is a controller that works on a server of its own, in virtual time, and may write when mayWrite is closed.
type replica struct {
	*Controller
	*ingresstest.World
	mayWrite chan struct{}
}

func withReplica(t *testing.T, play func(t *testing.T, r *replica)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		world, cfg, served := ingresstest.Serve(ctx, t)
		ran := make(chan error, 1)
		mayWrite := make(chan struct{})
		c, err := New(cfg, Options{Config: testConfig, Workers: 2, MayWrite: mayWrite})
		require.NoError(t, err)
		go func() { ran <- c.Run(ctx) }()
		defer func() {
			cancel()
			require.NoError(t, <-ran)
			require.NoError(t, <-served)
		}()
		play(t, &replica{c, world, mayWrite})
	})
}

func TestController_AStandbyIsReadyFollowsAndWritesNothing(t *testing.T) {
	withReplica(t, func(t *testing.T, r *replica) {
		ingressOf := func(name string) error {
			_, err := r.Client.NetworkingV1().Ingresses("default").Get(t.Context(), name, metav1.GetOptions{})
			return err
		}
		for _, name := range []string{"a", "b"} {
			require.NoError(t, r.Play(t.Context(), ingresstest.Move{Kind: "create", Name: name}))
		}
		<-time.After(time.Hour)
		require.NoError(t, r.Ready())
		require.True(t, apierrors.IsNotFound(ingressOf("a")))
		require.Zero(t, r.loop.Len(), "a queue that nobody works on")
		require.Greater(t, r.services.Store().Len(), 1)

		close(r.mayWrite)
		<-time.After(time.Minute)
		require.NoError(t, ingressOf("a"), "what came while it stood by")
		require.NoError(t, r.Play(t.Context(), ingresstest.Move{Kind: "create", Name: "c"}))
		<-time.After(time.Minute)
		require.NoError(t, ingressOf("c"), "what came after")
		require.NoError(t, r.Client.NetworkingV1().Ingresses("default").Delete(t.Context(), "a", metav1.DeleteOptions{}))
		<-time.After(time.Minute)
		require.NoError(t, ingressOf("a"), "what was undone after")
		require.NoError(t, r.Check(t.Context()))
	})
}

func TestController_StopsWhileItStandsBy(t *testing.T) {
	withReplica(t, func(t *testing.T, r *replica) {
		<-time.After(time.Minute)
		require.NoError(t, r.Ready())
	})
}

// A filled cache whose watch fails is not ready, either, even if lists still work.
func TestController_ARightThatIsTakenAwayIsNoticedAndSoIsItsReturn(t *testing.T) {
	for name, verbs := range map[string][]string{"watch": {"watch"}, "list and watch": {"list", "watch"}} {
		t.Run(name, func(t *testing.T) {
			withReplica(t, func(t *testing.T, r *replica) {
				<-time.After(time.Minute)
				require.NoError(t, r.Ready())
				for range 20 {
					for _, verb := range verbs {
						r.Server.Faults().FailNext(-1, apiserver.Failure{Verb: verb, Resource: "services", Code: http.StatusForbidden, Message: "ask your operator"})
					}
					r.Server.Faults().DropWatches()
					<-time.After(10 * time.Minute)
					synctest.Wait()
					require.ErrorContains(t, r.Ready(), "services: synced, but not up to date")
					require.ErrorContains(t, r.Ready(), "ask your operator")
					require.NotContains(t, r.Ready().Error(), "ingresses")
					r.Server.Faults().Reset()
					<-time.After(2 * maxBackoff)
					require.NoError(t, r.Ready())
				}
			})
		})
	}
}

// The panic is in a goroutine of its own, so it ends the process.
func TestController_EndsIfItsCacheIsModifiedAndTheEnvironmentAsksForTheDetector(t *testing.T) {
	if os.Getenv("KUBE_CACHE_MUTATION_DETECTOR") == "" {
		program := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		program.Env = append(os.Environ(), "KUBE_CACHE_MUTATION_DETECTOR=true")
		out, err := program.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), `informer services: object default/a@`)
		require.Contains(t, string(out), `was modified: ObjectMeta.Labels["by"]`)
		return
	}
	withReplica(t, func(t *testing.T, r *replica) {
		require.NoError(t, r.Play(t.Context(), ingresstest.Move{Kind: "create", Name: "a"}))
		<-time.After(time.Minute)
		service, found := r.services.Store().GetByKey(listwatch.Key{Namespace: "default", Name: "a"})
		require.True(t, found)
		service.Labels = map[string]string{"by": "hand"}
		<-time.After(time.Minute)
	})
}
