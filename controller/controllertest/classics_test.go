package controllertest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"glasswatch/controller/controllertest"
)

// classic is a controller as tutorials write it, on client-go: each ConfigMap with the label "vault" gets a Secret.
type classic struct {
	client  kubernetes.Interface
	maps    corelisters.ConfigMapLister
	secrets corelisters.SecretLister
	sync    func(ctx context.Context, c *classic, vault *corev1.ConfigMap) error
}

// start returns a Start that runs a classic with a sync of its own.
func start(sync func(ctx context.Context, c *classic, vault *corev1.ConfigMap) error) controllertest.Start {
	return func(ctx context.Context, cfg *rest.Config) error {
		client, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			return err
		}
		factory := informers.NewSharedInformerFactory(client, 0)
		maps, secrets := factory.Core().V1().ConfigMaps(), factory.Core().V1().Secrets()
		c := &classic{client: client, maps: maps.Lister(), secrets: secrets.Lister(), sync: sync}
		return loop(ctx, factory, c.reconcile, maps.Informer(), secrets.Informer()) // a Secret's owner has its name
	}
}

// loop reconciles the name of each object of some informers that has changed, as in tutorials.
func loop(ctx context.Context, factory informers.SharedInformerFactory, reconcile func(context.Context, cache.ObjectName) error,
	from ...cache.SharedIndexInformer) error {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	enqueue := func(obj any) {
		if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
			queue.Add(name)
		}
	}
	changes := cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }, DeleteFunc: enqueue}
	for _, informer := range from {
		if _, err := informer.AddEventHandler(changes); err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	factory.WaitForCacheSync(ctx.Done())
	context.AfterFunc(ctx, queue.ShutDown)
	for {
		name, down := queue.Get()
		if down {
			return nil
		}
		err := reconcile(ctx, name)
		if err != nil {
			queue.AddRateLimited(name)
		} else {
			queue.Forget(name)
		}
		queue.Done(name)
	}
}

func (c *classic) reconcile(ctx context.Context, name cache.ObjectName) error {
	vault, err := c.maps.ConfigMaps(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) || err == nil && vault.Labels["vault"] == "" {
		return nil
	}
	if err != nil {
		return err
	}
	return c.sync(ctx, c, vault)
}

const vault = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {vault: "yes"}}
`

// oneSecret is the invariant of the classics.
func oneSecret(v controllertest.View) error {
	if n := len(v.Kind("Secret")); n > 1 {
		return fmt.Errorf("%d Secrets for one vault", n)
	}
	return nil
}

// The first classic creates under a name that the server makes, and writes the name down afterwards. What dies in between, or has a cache
// that is behind, creates again.
func createThenRecord(ctx context.Context, c *classic, vault *corev1.ConfigMap) error {
	if vault.Annotations["secret"] != "" {
		return nil
	}
	secret, err := c.client.CoreV1().Secrets(vault.Namespace).Create(ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: vault.Name + "-"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	vault = vault.DeepCopy()
	metav1.SetMetaDataAnnotation(&vault.ObjectMeta, "secret", secret.Name)
	_, err = c.client.CoreV1().ConfigMaps(vault.Namespace).Update(ctx, vault, metav1.UpdateOptions{})
	return err
}

// Its mend: the name follows from the owner's, so that the server refuses the second one.
func createByName(ctx context.Context, c *classic, vault *corev1.ConfigMap) error {
	if _, err := c.secrets.Secrets(vault.Namespace).Get(vault.Name); !apierrors.IsNotFound(err) {
		return err
	}
	_, err := c.client.CoreV1().Secrets(vault.Namespace).Create(ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: vault.Name}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func TestClassic_CreateThenRecordMakesTwo(t *testing.T) {
	scenario := controllertest.Scenario{
		Start:  start(createThenRecord),
		Steps:  []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle()},
		Always: oneSecret,
	}
	finds(t, scenario, controllertest.Invariant, controllertest.CrashAfter, "program create secrets default/web-* #1")
	finds(t, scenario, controllertest.Invariant, controllertest.Conflict, "program update configmaps default/web #1")
	finds(t, scenario, controllertest.Invariant, controllertest.LoseAnswer, "program create secrets default/web-* #1")

	scenario.Start = start(createByName)
	scenario.Sample = 12
	controllertest.Run(t, scenario)
}

// The second classic takes "the name is taken" for "it is there already", and does not ask whose it is.
func adopt(ctx context.Context, c *classic, vault *corev1.ConfigMap) error {
	return adoptIf(ctx, c, vault, func(error) (state string, err error) { return "ready", nil })
}

// Its mend: a create that is refused says that the cache is behind, and the next try sees more.
func adoptOwn(ctx context.Context, c *classic, vault *corev1.ConfigMap) error {
	return adoptIf(ctx, c, vault, func(taken error) (string, error) { return "", taken })
}

func adoptIf(ctx context.Context, c *classic, vault *corev1.ConfigMap, onTaken func(error) (string, error)) error {
	if vault.Annotations["state"] != "" {
		return nil
	}
	state := "ready"
	secret, err := c.secrets.Secrets(vault.Namespace).Get(vault.Name)
	switch {
	case err == nil && !metav1.IsControlledBy(secret, vault):
		state = "the name is taken"
	case apierrors.IsNotFound(err):
		owner := *metav1.NewControllerRef(vault, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		_, err = c.client.CoreV1().Secrets(vault.Namespace).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: vault.Name, OwnerReferences: []metav1.OwnerReference{owner}}}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			state, err = onTaken(err)
		}
	}
	if err != nil {
		return err
	}
	vault = vault.DeepCopy()
	metav1.SetMetaDataAnnotation(&vault.ObjectMeta, "state", state)
	_, err = c.client.CoreV1().ConfigMaps(vault.Namespace).Update(ctx, vault, metav1.UpdateOptions{})
	return err
}

func TestClassic_AdoptByNameTakesWhatIsNotItsOwn(t *testing.T) {
	scenario := controllertest.Scenario{
		Start: start(adopt),
		Steps: []controllertest.Step{
			controllertest.ApplyText("{apiVersion: v1, kind: Secret, metadata: {name: web}}"),
			controllertest.Wait(time.Second),
			controllertest.ApplyText(vault),
			controllertest.Settle(),
		},
	}
	finds(t, scenario, controllertest.SameState, controllertest.HoldMinutes, "others patch secrets default/web #1")

	scenario.Start = start(adoptOwn)
	scenario.Sample = 12
	controllertest.Run(t, scenario)
}

// The third classic cleans up before it lets its owner go, but only what its cache has. The cache may not have seen yet what is there.
func cleanByCache(ctx context.Context, c *classic, vault *corev1.ConfigMap) error {
	_, err := c.secrets.Secrets(vault.Namespace).Get(vault.Name)
	return createAndClean(ctx, c, vault, !apierrors.IsNotFound(err))
}

// Its mend: what is to be gone is deleted, whatever the cache says.
func cleanAlways(ctx context.Context, c *classic, vault *corev1.ConfigMap) error {
	return createAndClean(ctx, c, vault, true)
}

const finalizer = "example.com/vault"

func createAndClean(ctx context.Context, c *classic, vault *corev1.ConfigMap, clean bool) error {
	maps, secrets := c.client.CoreV1().ConfigMaps(vault.Namespace), c.client.CoreV1().Secrets(vault.Namespace)
	vault = vault.DeepCopy()
	switch {
	case vault.DeletionTimestamp == nil && len(vault.Finalizers) == 0:
		vault.Finalizers = []string{finalizer}
		_, err := maps.Update(ctx, vault, metav1.UpdateOptions{})
		return err
	case vault.DeletionTimestamp == nil:
		return createByName(ctx, c, vault)
	}
	if clean {
		if err := secrets.Delete(ctx, vault.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	vault.Finalizers = nil
	_, err := maps.Update(ctx, vault, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func TestClassic_AFinalizerThatGoesTooEarlyLeavesSomething(t *testing.T) {
	scenario := controllertest.Scenario{
		Start: start(cleanByCache),
		Steps: []controllertest.Step{
			controllertest.ApplyText(vault),
			controllertest.Wait(time.Second),
			controllertest.Delete("configmap/web"),
			controllertest.Settle(),
		},
	}
	finds(t, scenario, controllertest.SameState, controllertest.HoldMinutes, "program create secrets default/web #1")

	// A creation by a replica that has been replaced may come after all that. Only the garbage collector could undo it, by an owner reference.
	scenario.Start = start(cleanAlways)
	scenario.Faults = slices.DeleteFunc(controllertest.AllFaults(), func(f controllertest.Fault) bool { return f == controllertest.HandOver })
	scenario.Sample = 12
	controllertest.Run(t, scenario)
}

// finds wants a finding with that fault at that request, which breaks that oracle.
func finds(t *testing.T, s controllertest.Scenario, oracle controllertest.Oracle, fault controllertest.Fault, at string) {
	t.Helper()
	s.Faults = []controllertest.Fault{fault}
	want := fmt.Sprintf("%s: %s", fault, at)
	report := controllertest.Explore(t, s)
	for _, finding := range report.Findings {
		if finding.Faults == want {
			require.Contains(t, finding.Broken, oracle)
			t.Logf("the bug is found: %s\n%s\n%s", finding.Faults, finding.Problems[0], finding.Story)
			return
		}
	}
	require.Fail(t, "not found: "+want, "%v: %v", report, report.Findings)
}

var update = flag.Bool("update", false, "write the session that a lesson of the lens shows")

// The lens shows a finding as it is written for it. What happens within one moment of virtual time comes in any order.
func TestSession_OfTheLessonIsWhatTheFirstClassicDoes(t *testing.T) {
	const file = "../../internal/lens/page/lessons/14-under-fire.json"
	report := controllertest.Explore(t, controllertest.Scenario{
		Start:  start(createThenRecord),
		Steps:  []controllertest.Step{controllertest.ApplyText(vault), controllertest.Settle()},
		Always: oneSecret,
		Faults: []controllertest.Fault{controllertest.CrashAfter},
	})
	got := report.Findings[0].Session()
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	events := func(text []byte) []string { return strings.Split(strings.ReplaceAll(string(text), ",\n", "\n"), "\n") }
	require.ElementsMatch(t, events(want), events(got))
}
