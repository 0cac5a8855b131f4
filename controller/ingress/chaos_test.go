package ingress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"

	"glasswatch/internal/apiserver"
)

// move is one change of the cluster. The meaning of Value depends on the kind.
type move struct {
	Kind  string
	Name  string
	Value int
}

var (
	moveKinds = []string{
		"create", "create", "annotate", "delete service", "port", "external name",
		"delete ingress", "edit ingress", "orphan ingress", "create stranger", "delete stranger",
		"fail", "tear", "drop watches", "break watches", "expire watches", "compact", "cut frame", "garble frame", "pause",
	}
	moveNames   = []string{"a", "b", "c"}
	annotations = []string{"true", "false", "maybe", ""}
)

func drawMoves(t *rapid.T) []move {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) move {
		return move{
			Kind:  rapid.SampledFrom(moveKinds).Draw(t, "kind"),
			Name:  rapid.SampledFrom(moveNames).Draw(t, "name"),
			Value: rapid.IntRange(0, 3).Draw(t, "value"),
		}
	}), 1, 40).Draw(t, "moves")
}

// After any changes and faults, once all is quiet: every Service that asks for an Ingress has exactly that one. No
// other Service has an Ingress, and Ingresses of other owners are unchanged.
func TestController_NothingIsLostWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		moves := drawMoves(rt)
		var err error
		synctest.Test(t, func(t *testing.T) { err = playMoves(t, moves) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// chaos is a cluster with the controller at work on it.
type chaos struct {
	server *apiserver.Server
	client kubernetes.Interface

	garbled bool
}

// serveWorld serves until ctx ends, in the bubble of its caller; what Serve returned comes out of served.
func serveWorld(ctx context.Context, t *testing.T) (world *chaos, cfg *rest.Config, served <-chan error) {
	t.Helper()
	listener := apiserver.NewPipeListener()
	server := apiserver.New(apiserver.Options{})
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	cfg = server.RESTConfigFor(listener)
	client, err := kubernetes.NewForConfig(cfg)
	require.NoError(t, err)
	return &chaos{server: server, client: client}, cfg, done
}

func playMoves(t *testing.T, moves []move) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	listener := apiserver.NewPipeListener()
	server := apiserver.New(apiserver.Options{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	cfg := server.RESTConfigFor(listener)
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	c, err := New(cfg, Options{Config: testConfig, Workers: 2})
	if err != nil {
		return err
	}
	ran := make(chan error, 1)
	go func() { ran <- c.Run(ctx) }()

	world := &chaos{server: server, client: client}
	for _, m := range moves {
		if err = world.play(ctx, m); err != nil {
			err = fmt.Errorf("%+v: %w", m, err)
			break
		}
	}
	server.Faults().Reset()
	<-time.After(time.Hour) // longer than every backoff and every contest
	synctest.Wait()
	err = errors.Join(err, world.check(ctx), c.Ready())
	cancel()
	return errors.Join(err, <-ran, <-served)
}

// play makes the move if it is possible, and else does nothing.
func (c *chaos) play(ctx context.Context, m move) error {
	faults := c.server.Faults()
	switch m.Kind {
	case "fail":
		codes := []int{http.StatusConflict, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusForbidden}
		faults.FailNext(m.Value+1, apiserver.Failure{Verb: verbOf(m.Name), Resource: "ingresses", Code: codes[m.Value]})
	case "tear":
		faults.FailNext(1, apiserver.Failure{Verb: verbOf(m.Name), Resource: "ingresses"})
	case "drop watches":
		faults.DropWatches()
	case "break watches":
		faults.BreakWatches()
	case "expire watches":
		faults.ExpireWatches()
	case "compact":
		faults.Compact()
	case "cut frame":
		faults.CutNextFrame()
	case "garble frame":
		// Once, for the reflector repeats a request after garbage once. So an event that is garbled twice is lost, by
		// contract.
		if !c.garbled {
			c.garbled = true
			faults.GarbleNextFrame()
		}
	case "pause":
		<-time.After([]time.Duration{time.Millisecond, 50 * time.Millisecond, time.Second, time.Minute}[m.Value])
	case "delete ingress", "edit ingress", "orphan ingress", "create stranger", "delete stranger":
		return benign(c.playIngress(ctx, m))
	default:
		return benign(c.playService(ctx, m))
	}
	return nil
}

// verbOf: a failure is for one of the verbs that the controller writes with, never for those of the test's own reads.
func verbOf(name string) string {
	return map[string]string{"a": "create", "b": "patch", "c": "watch"}[name]
}

// benign reports an expected error: the object is missing, exists already or has changed, or the failure was planned.
func benign(err error) error {
	if _, torn := errors.AsType[*url.Error](err); torn {
		return nil
	}
	if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

func (c *chaos) playService(ctx context.Context, m move) error {
	services := c.client.CoreV1().Services("default")
	if m.Kind == "create" {
		svc := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: m.Name, Annotations: map[string]string{"ingress/http": annotations[m.Value]}},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{tcp("http", 80)}},
		}
		_, err := services.Create(ctx, svc, metav1.CreateOptions{})
		return err
	}
	if m.Kind == "delete service" {
		return services.Delete(ctx, m.Name, metav1.DeleteOptions{})
	}
	svc, err := services.Get(ctx, m.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	switch m.Kind {
	case "annotate":
		metav1.SetMetaDataAnnotation(&svc.ObjectMeta, "ingress/http", annotations[m.Value])
	case "port":
		svc.Spec.Ports = []corev1.ServicePort{tcp("http", int32(81+m.Value))}
	case "external name":
		svc.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.org"}
	}
	_, err = services.Update(ctx, svc, metav1.UpdateOptions{})
	return err
}

func (c *chaos) playIngress(ctx context.Context, m move) error {
	ingresses := c.client.NetworkingV1().Ingresses("default")
	if m.Kind == "create stranger" {
		ing := &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: map[string]string{"stranger": "yes"}},
			Spec:       networkingv1.IngressSpec{Rules: desired{owner: owner{name: "theirs"}, host: "theirs", port: 1}.rules()},
		}
		_, err := ingresses.Create(ctx, ing, metav1.CreateOptions{})
		return err
	}
	ing, err := ingresses.Get(ctx, m.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	switch isStranger := ing.Labels["stranger"] != ""; {
	case m.Kind == "delete ingress" && !isStranger, m.Kind == "delete stranger" && isStranger:
		return ingresses.Delete(ctx, m.Name, metav1.DeleteOptions{})
	case isStranger, m.Kind == "delete ingress", m.Kind == "delete stranger":
		return nil
	case m.Kind == "edit ingress":
		ing.Spec.Rules[0].Host = fmt.Sprintf("edited-%d", m.Value)
	case m.Kind == "orphan ingress":
		ing.OwnerReferences = nil
		ing.Labels = map[string]string{"stranger": "yes"}
	}
	_, err = ingresses.Update(ctx, ing, metav1.UpdateOptions{})
	return err
}

// check compares every Ingress with what its Service asks for.
func (c *chaos) check(ctx context.Context) error {
	for _, name := range moveNames {
		svc, err := c.client.CoreV1().Services("default").Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			svc = nil
		} else if err != nil {
			return err
		}
		ing, err := c.client.NetworkingV1().Ingresses("default").Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			ing = nil
		} else if err != nil {
			return err
		}
		if err := checkPair(svc, ing); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func checkPair(svc *corev1.Service, ing *networkingv1.Ingress) error {
	if ing != nil && ing.Labels["stranger"] != "" {
		if metav1.GetControllerOf(ing) != nil {
			return errors.New("a stranger was adopted")
		}
		return nil
	}
	if svc == nil || svc.Spec.Type == corev1.ServiceTypeExternalName || svc.Annotations["ingress/http"] == "false" {
		if ing != nil {
			return errors.New("its Ingress is still there")
		}
		return nil
	}
	switch svc.Annotations["ingress/http"] {
	case "true":
		if ing == nil {
			return errors.New("it has no Ingress")
		}
	default:
		if ing == nil {
			return nil // it may have none; if it has one, that is its own
		}
	}
	if ref := metav1.GetControllerOf(ing); ref == nil || ref.UID != svc.UID {
		return fmt.Errorf("its Ingress is controlled by %+v", ref)
	}
	if svc.Annotations["ingress/http"] != "true" {
		return nil
	}
	want, err := testConfig.desire(svc)
	if err != nil {
		return err
	}
	if want.differs(ing) {
		return fmt.Errorf("want %+v, got %+v", want, ing.Spec.Rules)
	}
	return nil
}

func TestController_AForbiddenWatchIsNotReadyAndSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		listener := apiserver.NewPipeListener()
		server := apiserver.New(apiserver.Options{})
		served := make(chan error, 1)
		go func() { served <- server.Serve(ctx, listener) }()
		for _, verb := range []string{"list", "watch"} {
			server.Faults().FailNext(-1, apiserver.Failure{Verb: verb, Resource: "ingresses", Code: http.StatusForbidden, Message: "ask your operator"})
		}
		c, err := New(server.RESTConfigFor(listener), Options{Config: testConfig})
		require.NoError(t, err)
		ran := make(chan error, 1)
		go func() { ran <- c.Run(ctx) }()
		<-time.After(time.Minute)
		require.ErrorContains(t, c.Ready(), "ingresses: not synced")
		require.ErrorContains(t, c.Ready(), "ask your operator")
		server.Faults().Reset()
		<-time.After(time.Minute)
		require.NoError(t, c.Ready())
		cancel()
		require.NoError(t, <-ran)
		require.NoError(t, <-served)
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
				world, cfg, served := serveWorld(ctx, t)
				server, client := world.server, world.client
				c, err := New(cfg, Options{Config: testConfig})
				require.NoError(t, err)
				ran := make(chan error, 1)
				go func() { ran <- c.Run(ctx) }()
				require.NoError(t, world.play(ctx, move{Kind: "create", Name: "a"}))
				<-time.After(time.Second)

				for _, verb := range []string{"list", "watch"} {
					server.Faults().FailNext(-1, apiserver.Failure{Verb: verb, Resource: "ingresses", Code: http.StatusServiceUnavailable})
				}
				server.Faults().DropWatches()
				require.NoError(t, world.play(ctx, move{Kind: "orphan ingress", Name: "a"}))
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
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		serving, stopServing := context.WithCancel(t.Context())
		listener := apiserver.NewPipeListener()
		server := apiserver.New(apiserver.Options{})
		served := make(chan error, 1)
		go func() { served <- server.Serve(serving, listener) }()
		cfg := server.RESTConfigFor(listener)
		c, err := New(cfg, Options{Config: testConfig})
		require.NoError(t, err)
		ran := make(chan error, 1)
		go func() { ran <- c.Run(ctx) }()
		<-time.After(time.Second)
		server.Faults().FailNext(-1, apiserver.Failure{Verb: "create", Resource: "ingresses", Code: http.StatusInternalServerError})
		client, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		_, err = client.CoreV1().Services("default").Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"ingress/http": "true"}},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{tcp("http", 80)}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		server.Faults().Delay(time.Hour) // from the next retry on
		<-time.After(15 * time.Second)
		asked := time.Now()
		cancel()
		require.NoError(t, <-ran)
		require.Less(t, time.Since(asked), 5*time.Second)
		stopServing()
		require.NoError(t, <-served)
	})
}
