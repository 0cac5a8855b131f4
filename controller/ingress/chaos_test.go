package ingress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"glasswatch/controller/ingress/ingresstest"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
)

// After any changes and faults, once all is quiet: every Service that asks for an Ingress has exactly that one. No
// other Service has an Ingress, and Ingresses of other owners are unchanged.
func TestController_NothingIsLostWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		moves := ingresstest.DrawMoves(rt)
		var err error
		synctest.Test(t, func(t *testing.T) { err = playMoves(t, moves) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

func playMoves(t *testing.T, moves []ingresstest.Move) error {
	ctx := t.Context()
	server := apiservertest.Start(t, apiserver.Options{})
	c, err := New(server.Config, Options{Config: testConfig, Workers: 2})
	if err != nil {
		return err
	}
	apiservertest.Go(t, c.Run)

	world := &ingresstest.World{Server: server.Server, Client: server.Client}
	for _, m := range moves {
		if err = world.Play(ctx, m); err != nil {
			err = fmt.Errorf("%+v: %w", m, err)
			break
		}
	}
	server.Faults().Reset()
	<-time.After(time.Hour) // longer than every backoff and every contest
	synctest.Wait()
	return errors.Join(err, world.Check(ctx), c.Ready())
}

func TestController_AForbiddenWatchIsNotReadyAndSaysWhy(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) {
		for _, verb := range []string{"list", "watch"} {
			server.Faults().FailNext(-1, apiserver.Failure{Verb: verb, Resource: "ingresses", Code: http.StatusForbidden, Message: "ask your operator"})
		}
		c, err := New(server.Config, Options{Config: testConfig})
		require.NoError(t, err)
		apiservertest.Go(server, c.Run)
		<-time.After(time.Minute)
		require.ErrorContains(t, c.Ready(), "ingresses: not synced")
		require.ErrorContains(t, c.Ready(), "ask your operator")
		server.Faults().Reset()
		<-time.After(time.Minute)
		require.NoError(t, c.Ready())
	})
}

// Once an Ingress is orphaned, it belongs to nobody, even while an outdated cache shows it as controlled. Then no
// correction and no deletion may reach it.
func TestController_AStaleCacheNeitherAdoptsNorDeletesAnOrphan(t *testing.T) {
	for name, mutate := range map[string]func(*corev1.Service){
		"correction": func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 81 },
		"deletion":   func(svc *corev1.Service) { svc.Annotations["ingress/http"] = "false" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				world, cfg, served := ingresstest.Serve(ctx, t)
				server, client := world.Server, world.Client
				c, err := New(cfg, Options{Config: testConfig})
				require.NoError(t, err)
				ran := make(chan error, 1)
				go func() { ran <- c.Run(ctx) }()
				require.NoError(t, world.Play(ctx, ingresstest.Move{Kind: "create", Name: "a"}))
				<-time.After(time.Second)

				for _, verb := range []string{"list", "watch"} {
					server.Faults().FailNext(-1, apiserver.Failure{Verb: verb, Resource: "ingresses", Code: http.StatusServiceUnavailable})
				}
				server.Faults().DropWatches()
				require.NoError(t, world.Play(ctx, ingresstest.Move{Kind: "orphan ingress", Name: "a"}))
				orphan, err := client.NetworkingV1().Ingresses("default").Get(ctx, "a", metav1.GetOptions{})
				require.NoError(t, err)
				svc, err := client.CoreV1().Services("default").Get(ctx, "a", metav1.GetOptions{})
				require.NoError(t, err)
				mutate(svc)
				_, err = client.CoreV1().Services("default").Update(ctx, svc, metav1.UpdateOptions{})
				require.NoError(t, err)
				<-time.After(time.Minute)
				server.Faults().Reset()
				<-time.After(time.Hour)

				now, err := client.NetworkingV1().Ingresses("default").Get(ctx, "a", metav1.GetOptions{})
				require.NoError(t, err)
				require.Equal(t, orphan, now)
				cancel()
				require.NoError(t, <-ran)
				require.NoError(t, <-served)
			})
		})
	}
}

func TestController_StopsInTimeAndWithoutAnErrorWhenAWriteHangs(t *testing.T) {
	apiservertest.InBubble(t, apiserver.Options{}, func(t *testing.T, server *apiservertest.Server) {
		c, err := New(server.Config, Options{Config: testConfig})
		require.NoError(t, err)
		stop := apiservertest.Go(server, c.Run)
		<-time.After(time.Second)
		server.Faults().FailNext(-1, apiserver.Failure{Verb: "create", Resource: "ingresses", Code: http.StatusInternalServerError})
		_, err = server.Client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"ingress/http": "true"}},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{tcp("http", 80)}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		server.Faults().Delay(time.Hour) // from the next retry on
		<-time.After(15 * time.Second)
		asked := time.Now()
		stop()
		require.Less(t, time.Since(asked), 5*time.Second)
	})
}
