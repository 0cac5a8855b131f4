package scale

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"
)

// skewedLeases are the Leases as a process sees them whose clock shows seconds where leaseSeconds have passed.
type skewedLeases struct {
	coordinationv1client.LeasesGetter
	seconds int32
}

func (s skewedLeases) Leases(namespace string) coordinationv1client.LeaseInterface {
	return &skewedLease{s.LeasesGetter.Leases(namespace), s.seconds}
}

type skewedLease struct {
	coordinationv1client.LeaseInterface
	seconds int32
}

// toLocal stretches what was read, toWire undoes it.
func (s *skewedLease) toLocal(l *coordinationv1.Lease, err error) (*coordinationv1.Lease, error) {
	if err == nil && l.Spec.LeaseDurationSeconds != nil {
		l.Spec.LeaseDurationSeconds = ptr.To(s.seconds)
	}
	return l, err
}

func toWire(l *coordinationv1.Lease) *coordinationv1.Lease {
	l = l.DeepCopy()
	l.Spec.LeaseDurationSeconds = ptr.To[int32](leaseSeconds)
	return l
}

func (s *skewedLease) Create(
	ctx context.Context, l *coordinationv1.Lease, o metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	return s.toLocal(s.LeaseInterface.Create(ctx, toWire(l), o))
}

func (s *skewedLease) Update(
	ctx context.Context, l *coordinationv1.Lease, o metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	return s.toLocal(s.LeaseInterface.Update(ctx, toWire(l), o))
}

func (s *skewedLease) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	return s.toLocal(s.LeaseInterface.Get(ctx, name, o))
}

func (s *skewedLease) List(ctx context.Context, o metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	list, err := s.LeaseInterface.List(ctx, o)
	if err == nil {
		for i := range list.Items {
			_, _ = s.toLocal(&list.Items[i], nil)
		}
	}
	return list, err
}

func (s *skewedLease) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	w, err := s.LeaseInterface.Watch(ctx, o)
	if err != nil {
		return nil, err
	}
	out := watch.NewProxyWatcher(make(chan watch.Event))
	events := make(chan watch.Event)
	go func() {
		defer close(events)
		defer w.Stop()
		for {
			select {
			case e, open := <-w.ResultChan():
				if !open {
					return
				}
				if l, ok := e.Object.(*coordinationv1.Lease); ok {
					_, _ = s.toLocal(l, nil)
				}
				select {
				case events <- e:
				case <-out.StopChan():
					return
				}
			case <-out.StopChan():
				return
			}
		}
	}()
	return &translated{out, events}, nil
}

// translated is a watch whose events pass through a translation.
type translated struct {
	*watch.ProxyWatcher
	events chan watch.Event
}

func (t *translated) ResultChan() <-chan watch.Event { return t.events }
