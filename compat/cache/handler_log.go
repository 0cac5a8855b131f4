package cache

import (
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// loggedHandler logs a handler's panics to the logger that came with it. If the program is to crash, the informer logs
// the panic once more, to its own. Only the goroutine that calls the handler uses it.
type loggedHandler struct {
	ResourceEventHandler
	logger  klog.Logger
	crashed bool // the last call panicked
}

// pauseAfterCrash keeps a handler that always panics from filling the log. The informer does not see these panics.
const pauseAfterCrash = time.Second

func (h *loggedHandler) OnAdd(obj any, isInInitialList bool) {
	h.call(func() { h.ResourceEventHandler.OnAdd(obj, isInInitialList) })
}

func (h *loggedHandler) OnUpdate(oldObj, newObj any) {
	h.call(func() { h.ResourceEventHandler.OnUpdate(oldObj, newObj) })
}

func (h *loggedHandler) OnDelete(obj any) {
	h.call(func() { h.ResourceEventHandler.OnDelete(obj) })
}

func (h *loggedHandler) call(handle func()) {
	if h.crashed {
		time.Sleep(pauseAfterCrash)
	}
	h.crashed = true
	defer utilruntime.HandleCrashWithLogger(h.logger)
	handle()
	h.crashed = false
}
