package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"glasswatch/sharedinformer"
)

// AddEventHandler adds a handler with the informer's resync period.
func (s *sharedIndexInformer) AddEventHandler(handler ResourceEventHandler) (ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod adds a handler with a resync period of its own; 0 is none.
func (s *sharedIndexInformer) AddEventHandlerWithResyncPeriod(handler ResourceEventHandler, resyncPeriod time.Duration) (ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, HandlerOptions{ResyncPeriod: &resyncPeriod})
}

// AddEventHandlerWithOptions adds a handler, before or while the informer runs, from a handler too. A late handler
// first gets the whole store. Its panics are logged to the Logger, without one to that in the context of RunWithContext.
func (s *sharedIndexInformer) AddEventHandlerWithOptions(handler ResourceEventHandler, options HandlerOptions) (ResourceEventHandlerRegistration, error) {
	var native sharedinformer.HandlerOptions
	if options.ResyncPeriod != nil {
		native.ResyncPeriod = *options.ResyncPeriod
		if native.ResyncPeriod <= 0 {
			native.ResyncPeriod = sharedinformer.NoResync
		}
	}
	if options.Logger != nil {
		native.Context = klog.NewContext(context.Background(), *options.Logger)
	}
	return s.AddBoundedEventHandler(handler, native)
}

// AddBoundedEventHandler adds a handler whose backlog may be bounded: by Fold, or by MaxBacklog, past which the handler
// is removed. The registration reports the end of the handler: assert interface{ Done() <-chan struct{}; Err() error }.
func (s *sharedIndexInformer) AddBoundedEventHandler(handler ResourceEventHandler, options sharedinformer.HandlerOptions) (ResourceEventHandlerRegistration, error) {
	if handler == nil {
		return nil, errors.New("the handler is nil")
	}
	if options.Name == "" {
		options.Name = handlerName(handler)
	}
	native, err := s.native.AddHandler(handlerAdaptor{handler}, options)
	if err != nil {
		return nil, &notAddedError{options.Name, err}
	}
	return &registration{Registration: native, informer: s, handler: options.Name}, nil
}

// notAddedError has client-go's words, for programs that look at the end of them.
type notAddedError struct {
	handler string
	cause   error
}

func (e *notAddedError) Error() string {
	return fmt.Sprintf("handler %v was not added to shared informer because it has stopped already", e.handler)
}

func (e *notAddedError) Unwrap() error { return e.cause }

// RemoveEventHandler removes a handler and drops its backlog. It does not wait for a running call. It is no error if
// the handler was removed already, or belongs to another informer.
func (s *sharedIndexInformer) RemoveEventHandler(handle ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok {
		return fmt.Errorf("a %T is not what adding a handler returned", handle)
	}
	if err := s.native.RemoveHandler(r.Registration); !errors.Is(err, sharedinformer.ErrUnknownHandler) {
		return err
	}
	return nil
}

// ShutDownEventHandler removes a handler and waits until it has returned from its last call. It must not be called from the
// handler itself.
func ShutDownEventHandler(informer SharedInformer, handle ResourceEventHandlerRegistration) error {
	if err := informer.RemoveEventHandler(handle); err != nil {
		return err
	}
	r, ok := handle.(interface{ ShutdownChan() <-chan struct{} })
	if !ok {
		return errors.New("the registration does not report when its handler has ended")
	}
	<-r.ShutdownChan()
	return nil
}

// registration is a handler's registration, by client-go's contract and the native one.
type registration struct {
	*sharedinformer.Registration
	informer *sharedIndexInformer
	handler  string
}

// HasSyncedChecker is done when the handler has got all of the initial list.
func (r *registration) HasSyncedChecker() DoneChecker {
	return namedChannel{r.checkerName, r.Synced()}
}

func (r *registration) checkerName() string {
	return r.informer.checkerName() + " + event handler " + r.handler
}

// ShutdownChan is the channel that ShutDownEventHandler, client-go's included, waits for.
func (r *registration) ShutdownChan() <-chan struct{} { return r.Done() }

// handlerAdaptor makes a native handler of a ResourceEventHandler.
type handlerAdaptor struct{ handler ResourceEventHandler }

func (h handlerAdaptor) OnAdd(obj object, isInInitialList bool) {
	h.handler.OnAdd(obj, isInInitialList)
}
func (h handlerAdaptor) OnUpdate(oldObj, newObj object) { h.handler.OnUpdate(oldObj, newObj) }

func (h handlerAdaptor) OnDelete(d sharedinformer.Deletion[object]) {
	if d.HasObj() && !d.FinalStateUnknown {
		h.handler.OnDelete(d.Obj)
		return
	}
	tombstone := DeletedFinalStateUnknown{Key: NamespacedNameAsObjectName(d.Key).String()}
	if d.HasObj() { // Obj stays a nil interface otherwise
		tombstone.Obj = d.Obj
	}
	h.handler.OnDelete(tombstone)
}
