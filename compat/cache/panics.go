package cache

import (
	"context"
	"fmt"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// guarded calls f. A panic goes through HandleCrash here, where the stack shows f. If that does not end the program,
// the panic is f's error.
func guarded[R any](ctx context.Context, f func() (R, error)) (result R, err error) {
	defer utilruntime.HandleCrashWithContext(ctx, func(_ context.Context, panicked any) {
		err = fmt.Errorf("the function panicked: %v", panicked)
	})
	return f()
}

// reportingPanics is transform with its panics as errors, which cost one object. The panic handlers hear of them here,
// where the stack shows transform. nil stays nil.
func reportingPanics(transform TransformFunc) TransformFunc {
	if transform == nil {
		return nil
	}
	return func(obj any) (any, error) { return callTransform(transform, obj) }
}

func callTransform(transform TransformFunc, obj any) (out any, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			for _, handle := range utilruntime.PanicHandlers {
				handle(context.Background(), panicked)
			}
			out, err = nil, fmt.Errorf("the transform panicked: %v", panicked)
		}
	}()
	return transform(obj)
}
