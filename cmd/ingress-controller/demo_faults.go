package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"glasswatch/cmd/internal/demo"
	"glasswatch/controller/ingress"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/lens/look"
)

const finalizer = "example.com/hold"

func ruleWaits(ctx context.Context, w *world) error {
	if _, err := w.start(ctx, "web"); err != nil {
		return err
	}
	err := w.updateIngress(ctx, "web", "put a finalizer on the Ingress", func(ing *networkingv1.Ingress) {
		ing.Finalizers = []string{finalizer}
	})
	if err != nil {
		return err
	}
	if err := w.deleteIngress(ctx, "web"); err != nil {
		return err
	}
	held, err := w.ingress(ctx, "web")
	if err != nil {
		return err
	}
	if held.DeletionTimestamp == nil {
		return errors.New("want the Ingress to be held by its finalizer")
	}
	if err := w.updateService(ctx, "web", "changed the port while the Ingress is being deleted", setPort(81)); err != nil {
		return err
	}
	if err := w.expectUntouched(ctx, held); err != nil {
		return err
	}
	err = w.updateIngress(ctx, "web", "took the finalizer off", func(ing *networkingv1.Ingress) { ing.Finalizers = nil })
	if err != nil {
		return err
	}
	if _, err = w.expectIngress(ctx, "web", w.serving(w.config.Host, 81)); err != nil {
		return err
	}
	return w.deletedServiceIsLeftAlone(ctx)
}

func (w *world) deletedServiceIsLeftAlone(ctx context.Context) error {
	err := w.updateService(ctx, "web", "put a finalizer on the Service", func(svc *corev1.Service) {
		svc.Finalizers = []string{finalizer}
	})
	if err != nil {
		return err
	}
	if err := w.deleteService(ctx, "web"); err != nil {
		return err
	}
	if err := w.deleteIngress(ctx, "web"); err != nil {
		return err
	}
	if err := w.expectNoIngress(ctx, "web"); err != nil {
		return err
	}
	return w.updateService(ctx, "web", "took the finalizer off", func(svc *corev1.Service) { svc.Finalizers = nil })
}

func setPort(port int32) mutateService {
	return func(svc *corev1.Service) { svc.Spec.Ports[0].Port = port }
}

func ruleTerminating(ctx context.Context, w *world) error {
	hold := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "hold", Finalizers: []string{finalizer}}}
	if _, err := w.client.CoreV1().ConfigMaps(w.namespace).Create(ctx, hold, metav1.CreateOptions{}); err != nil {
		return err
	}
	err := w.createService(ctx, "web", func(svc *corev1.Service) { svc.Finalizers = []string{finalizer} })
	if err != nil {
		return err
	}
	w.did("deleted the namespace, which two finalizers hold")
	if err := w.client.CoreV1().Namespaces().Delete(ctx, w.namespace, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := w.updateService(ctx, "web", "set the annotation meanwhile", w.asking); err != nil {
		return err
	}
	if err := w.expectNoIngress(ctx, "web"); err != nil {
		return err
	}
	if err := w.expectNoFailure("web"); err != nil {
		return err
	}
	err = w.updateService(ctx, "web", "took the finalizers off", func(svc *corev1.Service) { svc.Finalizers = nil })
	if err != nil {
		return err
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		hold, err := w.client.CoreV1().ConfigMaps(w.namespace).Get(ctx, "hold", metav1.GetOptions{})
		if err != nil {
			return err
		}
		hold.Finalizers = nil
		_, err = w.client.CoreV1().ConfigMaps(w.namespace).Update(ctx, hold, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	err = demo.Eventually(ctx, func() error {
		_, err := w.client.CoreV1().Namespaces().Get(ctx, w.namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("the namespace is still there"), err)
	})
	if err == nil {
		w.saw("the namespace is gone")
	}
	return err
}

func ruleRetried(ctx context.Context, w *world) error {
	for _, code := range []int{http.StatusTooManyRequests, http.StatusInternalServerError} {
		name := fmt.Sprintf("web-%d", code)
		w.did("let the next two creations of an Ingress fail with %d", code)
		w.faults.FailNext(2, apiserver.Failure{Verb: "create", Resource: "ingresses", Code: code})
		if _, err := w.start(ctx, name); err != nil {
			return err
		}
		for try, e := range w.traces.looks(keyOf(w.namespace, name)) {
			w.saw("try %d: %s", try+1, outcome(e))
			if e.Error == "" {
				break
			}
		}
	}
	return nil
}

func ruleRests(ctx context.Context, w *world) error {
	w.did("let the next creation of an Ingress fail with 422")
	w.faults.FailNext(1, apiserver.Failure{Verb: "create", Resource: "ingresses", Code: http.StatusUnprocessableEntity})
	if err := w.createService(ctx, "web", w.asking); err != nil {
		return err
	}
	if err := w.expectWarning(ctx, "web", ingress.ReasonRejected); err != nil {
		return err
	}
	if err := w.expectRest(ctx, "web"); err != nil {
		return err
	}
	if err := w.updateService(ctx, "web", "changed the port", setPort(81)); err != nil {
		return err
	}
	_, err := w.expectIngress(ctx, "web", w.serving(w.config.Host, 81))
	return err
}

func ruleBrokenWatch(ctx context.Context, w *world) error {
	if _, err := w.start(ctx, "gone"); err != nil {
		return err
	}
	// From here the controller gets no events: its watches are cut, and new ones are refused until Reset.
	w.did("cut every watch, and let the next ones and the lists fail while things change")
	defer w.faults.Reset()
	w.faults.FailNext(-1, apiserver.Failure{Verb: "watch", Code: http.StatusServiceUnavailable})
	w.faults.FailNext(-1, apiserver.Failure{Verb: "list", Code: http.StatusServiceUnavailable})
	w.faults.DropWatches()
	services := w.client.CoreV1().Services(w.namespace)
	if err := services.Delete(ctx, "gone", metav1.DeleteOptions{}); err != nil {
		return err
	}
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	w.asking(svc)
	if _, err := services.Create(ctx, svc, metav1.CreateOptions{}); err != nil {
		return err
	}
	w.did("deleted Service gone, created Service web, compacted the history, let the server answer again")
	mark := w.traces.mark()
	w.faults.Compact()
	w.faults.Reset()
	path, err := w.traces.crossing(ctx, mark, "Service", keyOf(w.namespace, "web"))
	if err != nil {
		return err
	}
	w.acts[len(w.acts)-1].path = path
	if _, err := w.expectIngress(ctx, "web", w.serving(w.config.Host, 80)); err != nil {
		return err
	}
	if err := w.expectNoIngress(ctx, "gone"); err != nil {
		return err
	}
	w.saw("no event told that Service gone is deleted. The list lacks it, so handlers get the store's last copy of it, a tombstone")
	told := w.traces.since(mark, keyOf(w.namespace, "gone"), func(e look.Event) bool { return e.At == look.Called && e.Kind == "Service" })
	if len(told) == 0 {
		return errors.New("want a handler to be told of Service gone")
	}
	w.saw("%s", strings.Join(strings.Fields(traceLine(told[0])), " "))
	return nil
}

func ruleContested(ctx context.Context, w *world) error {
	if _, err := w.start(ctx, "web"); err != nil {
		return err
	}
	w.did("set another host as often as it is put right")
	undone := 0
	err := demo.Eventually(ctx, func() error {
		ing, err := w.ingress(ctx, "web")
		if err != nil {
			return err
		}
		if ing.Spec.Rules[0].Host == w.config.Host {
			undone++
			if err := w.editIngress(ctx, "web", func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].Host = "theirs.example.com" }); err != nil {
				return err
			}
		}
		events, err := w.warnings(ctx, "web")
		if err == nil && len(events) == 0 {
			err = errors.New("no Event yet")
		}
		return err
	})
	if err != nil {
		return err
	}
	w.saw("it was put right %d times at once, then", undone-1)
	if err := w.expectWarning(ctx, "web", ingress.ReasonContested); err != nil {
		return err
	}
	_, err = w.expectIngress(ctx, "web", w.serving(w.config.Host, 80))
	return err
}
