package controller

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Result of a reconcile that did not fail.
type Result struct {
	RequeueAfter time.Duration
}

// Reconciler brings the world in line with what the object of a key asks for.
type Reconciler[K comparable] interface {
	Reconcile(ctx context.Context, key K) (Result, error)
}

// Func is a function as a Reconciler.
type Func[K comparable] func(ctx context.Context, key K) (Result, error)

// Reconcile calls f.
func (f Func[K]) Reconcile(ctx context.Context, key K) (Result, error) { return f(ctx, key) }

// Options configure a Controller.
type Options[K comparable] struct {
	Name         string
	Workers      int
	MaxRetries   int
	BaseDelay    time.Duration
	MaxDelay     time.Duration
	DrainTimeout time.Duration
	Registerer   prometheus.Registerer
}

// Controller reconciles keys.
type Controller[K comparable] struct{}

// New returns a controller.
func New[K comparable](r Reconciler[K], opts Options[K]) *Controller[K] { panic("to be written") }

// Enqueue makes key due.
func (c *Controller[K]) Enqueue(key K) {}

// EnqueueAfter makes key due later.
func (c *Controller[K]) EnqueueAfter(key K, d time.Duration) {}

// EnqueueWithPriority makes key due.
func (c *Controller[K]) EnqueueWithPriority(key K, priority int) {}

// Run reconciles until ctx is cancelled.
func (c *Controller[K]) Run(ctx context.Context) error { return nil }

// Terminal marks err as not to be retried.
func Terminal(err error) error { return err }
