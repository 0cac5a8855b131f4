package lens

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"
	"k8s.io/client-go/rest"

	"glasswatch/internal/lens/beside"
	"glasswatch/internal/lens/look"
	"glasswatch/listwatch"
)

// comparer is the handler whose calls are compared with those of client-go's. The faults of handlers are for both.
const comparer = "beside"

var errNotBeside = errors.New("client-go's informers do not run in this world: act beside")

// sides tells by the user agent whose request it is.
var sides = map[string]int{pipelineAgent: beside.Ours, besideAgent: beside.ClientGo}

const besideAgent = "glasswatch-lens-beside"

// runBeside starts client-go's informers.
func (w *World) runBeside() error {
	cfg := &rest.Config{Host: "http://lens.invalid", Dial: w.backend.dial, QPS: -1, UserAgent: besideAgent}
	services, err := typedcorev1.NewForConfig(cfg)
	if err != nil {
		return err
	}
	ingresses, err := networkingv1client.NewForConfig(cfg)
	if err != nil {
		return err
	}
	runServices, err1 := w.beside.AddKind("Service", "services", &corev1.Service{}, services.RESTClient())
	runIngresses, err2 := w.beside.AddKind("Ingress", "ingresses", &networkingv1.Ingress{}, ingresses.RESTClient())
	w.running.Go(func() { runServices(w.ctx) })
	w.running.Go(func() { runIngresses(w.ctx) })
	w.running.Go(func() { w.beside.Run(w.ctx) })
	return errors.Join(err1, err2)
}

func (w *World) newBeside() *beside.Beside {
	return beside.New(beside.Options{
		Resync: time.Duration(w.options.Resync) * time.Millisecond,
		Paged:  w.options.Paged,
		Before: func() { w.backend.faults.strike(comparer) },
		Busy: func() bool {
			on := w.backend.faults.all()
			isOpen := w.backend.server.Faults().Watches() == 4
			return !isOpen || w.hub.Stepping() || on["delay"].On || isFor(on["slow"], comparer)
		},
		Changed: w.hub.Wake,
		Store: func(put func(beside.Object, string)) {
			each(w.services, put)
			each(w.ingresses, put)
		},
	})
}

// each tells what is in the store.
func each[T listwatch.Object](in *look.Observed[T], put func(o beside.Object, rv string)) {
	snapshot := in.Store().Snapshot()
	for key, obj := range snapshot.All() {
		put(beside.Object{Kind: in.Kind, Key: look.NameOf(key)}, obj.GetResourceVersion())
	}
}
