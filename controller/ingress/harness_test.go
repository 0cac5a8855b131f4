package ingress

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/tools/record"

	"glasswatch/controller"
	"glasswatch/controller/ingress/ingresstest"
	"glasswatch/listwatch"
)

// A history plays hours of virtual time. Some are enough at each run; make check plays more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

var webKey = listwatch.Key{Namespace: "default", Name: "web"}

// bench is a reconciler between two caches and a server that records.
type bench struct {
	t         *testing.T
	services  *ingresstest.Cache[*corev1.Service]
	ingresses *ingresstest.Cache[*networkingv1.Ingress]
	server    *recordingServer
	events    *record.FakeRecorder
	r         *Reconciler
}

func newBench(t *testing.T) *bench {
	b := &bench{
		t:         t,
		services:  &ingresstest.Cache[*corev1.Service]{Objects: map[listwatch.Key]*corev1.Service{}},
		ingresses: &ingresstest.Cache[*networkingv1.Ingress]{Objects: map[listwatch.Key]*networkingv1.Ingress{}, Version: 10},
		server:    &recordingServer{version: 10},
		events:    record.NewFakeRecorder(100),
	}
	var err error
	b.r, err = NewReconciler(testConfig, b.services, b.ingresses, b.server, b.events)
	require.NoError(t, err)
	return b
}

// serviceIs puts a Service into the cache: annotated, with port 80, then as mutate wants it.
func (b *bench) serviceIs(mutate ...func(*corev1.Service)) *corev1.Service {
	b.services.Version++
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "default", UID: "svc-1", ResourceVersion: b.services.ResourceVersion(),
			Annotations: map[string]string{"ingress/http": "true"},
		},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{tcp("http", 80)}},
	}
	for _, m := range mutate {
		m(svc)
	}
	b.services.Objects[webKey] = svc
	return svc
}

func (b *bench) noService() { delete(b.services.Objects, webKey) }

// cacheCatchesUp shows the reconciler what the server holds.
func (b *bench) cacheCatchesUp() {
	b.ingresses.Version = b.server.version
	delete(b.ingresses.Objects, webKey)
	if b.server.stored != nil {
		b.ingresses.Objects[webKey] = b.server.stored.DeepCopy()
	}
}

// byHand changes the stored Ingress without the controller, and updates the cache.
func (b *bench) byHand(mutate func(*networkingv1.Ingress)) {
	b.server.version++
	if mutate == nil {
		b.server.stored = nil
	} else {
		if b.server.stored == nil {
			b.server.stored = &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "by-hand"}}
		}
		b.server.stored = b.server.stored.DeepCopy()
		mutate(b.server.stored)
		b.server.stored.ResourceVersion = strconv.Itoa(b.server.version)
	}
	b.cacheCatchesUp()
}

func (b *bench) reconcile() (controller.Result, error) {
	return b.r.Reconcile(context.Background(), webKey)
}

// expect reconciles, and wants exactly these writes of it and no error.
func (b *bench) expect(writes ...string) controller.Result {
	b.t.Helper()
	result, err := b.reconcile()
	require.NoError(b.t, err)
	b.wrote(writes...)
	return result
}

func (b *bench) wrote(writes ...string) {
	b.t.Helper()
	require.ElementsMatch(b.t, writes, b.server.writes)
	b.server.writes = nil
}

// warned wants exactly these Events since its last call; each is a reason.
func (b *bench) warned(reasons ...string) {
	b.t.Helper()
	var got []string
	for len(b.events.Events) > 0 {
		var kind, reason string
		_, err := fmt.Sscan(<-b.events.Events, &kind, &reason)
		require.NoError(b.t, err)
		require.Equal(b.t, corev1.EventTypeWarning, kind)
		got = append(got, reason)
	}
	require.Equal(b.t, reasons, got)
}

// recordingServer is the API server for the reconciler's requests: one Ingress, a list of them, and planned errors.
type recordingServer struct {
	networkingv1client.IngressInterface // nil: any other call panics
	stored                              *networkingv1.Ingress
	version                             int
	writes                              []string // and reads
	failures                            []error
	admit                               func(*networkingv1.Ingress) // the admission's change
}

func (s *recordingServer) Ingresses(string) networkingv1client.IngressInterface { return s }

func (s *recordingServer) failure() error {
	if len(s.failures) == 0 {
		return nil
	}
	err := s.failures[0]
	s.failures = s.failures[1:]
	return err
}

func (s *recordingServer) store(ing *networkingv1.Ingress, manager string) *networkingv1.Ingress {
	ing.ManagedFields = append(ing.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager})
	if s.admit != nil {
		s.admit(ing)
	}
	s.version++
	ing.ResourceVersion = strconv.Itoa(s.version)
	s.stored = ing
	return ing.DeepCopy()
}

func (s *recordingServer) Create(_ context.Context, ing *networkingv1.Ingress, opts metav1.CreateOptions) (*networkingv1.Ingress, error) {
	s.writes = append(s.writes, "create by "+opts.FieldManager)
	if err := s.failure(); err != nil {
		return nil, err
	}
	ing = ing.DeepCopy()
	ing.UID = types.UID(fmt.Sprintf("ing-%d", s.version))
	return s.store(ing, opts.FieldManager), nil
}

func (s *recordingServer) Apply(_ context.Context, ac *networkingv1ac.IngressApplyConfiguration, opts metav1.ApplyOptions) (*networkingv1.Ingress, error) {
	s.writes = append(s.writes, fmt.Sprintf("apply to %s by %s, force %v", *ac.UID, opts.FieldManager, opts.Force))
	if err := s.failure(); err != nil {
		return nil, err
	}
	ing := s.stored.DeepCopy()
	rule := ac.Spec.Rules[0]
	path := rule.HTTP.Paths[0]
	ing.Spec.Rules = desired{host: *rule.Host, port: *path.Backend.Service.Port.Number, owner: owner{name: *path.Backend.Service.Name}}.rules()
	if ac.Spec.IngressClassName != nil {
		ing.Spec.IngressClassName = ac.Spec.IngressClassName
	}
	ref := ac.OwnerReferences[0]
	for i := range ing.OwnerReferences {
		if ing.OwnerReferences[i].UID == *ref.UID {
			ing.OwnerReferences[i] = metav1.OwnerReference{APIVersion: *ref.APIVersion, Kind: *ref.Kind, Name: *ref.Name,
				UID: *ref.UID, Controller: ref.Controller, BlockOwnerDeletion: ref.BlockOwnerDeletion}
		}
	}
	return s.store(ing, opts.FieldManager), nil
}

func (s *recordingServer) Delete(_ context.Context, name string, opts metav1.DeleteOptions) error {
	s.writes = append(s.writes, "delete "+string(*opts.Preconditions.UID))
	if err := s.failure(); err != nil {
		return err
	}
	s.version++
	s.stored = nil
	return nil
}

func (s *recordingServer) List(_ context.Context, opts metav1.ListOptions) (*networkingv1.IngressList, error) {
	s.writes = append(s.writes, "list "+strings.TrimPrefix(opts.FieldSelector, "metadata.name="))
	if err := s.failure(); err != nil {
		return nil, err
	}
	list := &networkingv1.IngressList{}
	if s.stored != nil {
		list.Items = append(list.Items, *s.stored.DeepCopy())
	}
	return list, nil
}
