// Command 11-logging logs: lines a program can search, about objects, at levels, with what the context knows, as text and as JSON.
package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"

	"glasswatch/cmd/internal/demo"
	"glasswatch/cmd/internal/logging"
)

func main() { demo.Main(story) }

var story = demo.Story{Name: "11-logging", Title: "What happened, to which object, and who says so",
	Layer: "cmd/internal/logging/logging.go", Next: "cmd/ingress-controller/main.go",
	Tell: demo.Steps(structured, objects, levels, contexts, zapped, clientGo)}

// both logs the same as text and as JSON, and prints the result.
func both(d *demo.Demo, verbosity int, log func(logger klog.Logger)) {
	for _, format := range []string{logging.Text, logging.JSON} {
		var out bytes.Buffer
		log(logging.New(&out, format, verbosity))
		d.Entry(format, "", strings.TrimSpace(out.String()))
	}
}

// behindKlog makes a logger the one that klog's functions use, for as long as use does.
func behindKlog(logger klog.Logger, use func()) {
	before := klog.Background()
	defer klog.SetLoggerWithOptions(before, klog.ContextualLogger(true))
	klog.SetLoggerWithOptions(logger, klog.ContextualLogger(true))
	use()
}

var cart = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart"}}

func structured(_ context.Context, d *demo.Demo) {
	d.Step("A message that is always the same, and keys with values")
	both(d, 0, func(logger klog.Logger) {
		behindKlog(logger, func() { klog.Infof("retrying %s in %d seconds", "cart", 5) })
	})
	both(d, 0, func(logger klog.Logger) {
		behindKlog(logger, func() { klog.InfoS("Retrying", "pod", "cart", "seconds", 5) })
	})
	both(d, 0, func(logger klog.Logger) {
		logger.Error(errors.New("no route to host"), "Retrying failed", "seconds", 5)
	})
	d.Why("a sentence is for people; a message and its keys can be searched, counted and alerted on. An error has a place of its own")
}

func objects(_ context.Context, d *demo.Demo) {
	d.Step("Objects: by reference, and not whole")
	both(d, 0, func(logger klog.Logger) { logger.Info("Deleted", "pod", klog.KObj(cart)) })
	both(d, 0, func(logger klog.Logger) { logger.Info("Not found", "pod", klog.KRef("shop", "till")) })
	both(d, 0, func(logger klog.Logger) { logger.Info("Evicted", "pods", klog.KObjSlice([]*corev1.Pod{cart, cart})) })
	d.Why("KObj takes an object, KRef what is left of one: a key. The same text for both, namespace/name, so a search finds both")
}

func levels(_ context.Context, d *demo.Demo) {
	d.Step("V levels: the same program, asked with -v=2")
	both(d, 2, func(logger klog.Logger) {
		logger.Info("Started")
		logger.V(2).Info("Synced", "pods", 3)
		logger.V(4).Info("Compared", "pod", klog.KObj(cart))
		logger.Info("Asked", "2", logger.V(2).Enabled(), "4", logger.V(4).Enabled())
	})
	d.Why("0 always, 2 for operators, 4 to find a bug, 6 and up for each request. What is dear to make waits for Enabled.\n" +
		"klog.V asks klog's own flag, logger.V the logger that one has")
}

func contexts(ctx context.Context, d *demo.Demo) {
	d.Step("The context carries the logger: who speaks, and about what, is said once")
	reconcile := func(ctx context.Context) { klog.FromContext(ctx).Info("Nothing to do") } // knows of neither
	both(d, 0, func(logger klog.Logger) {
		logger = klog.LoggerWithName(klog.LoggerWithName(logger, "ingress"), "worker")
		logger = klog.LoggerWithValues(logger, "service", klog.KObj(cart), "reconcileID", "7f3a")
		reconcile(klog.NewContext(ctx, logger))
	})
	d.Why("all lines of one reconcile have its ID, those of the libraries that it calls, too, if they are given the context")
}

func zapped(_ context.Context, d *demo.Demo) {
	d.Step("zap behind klog: zapr makes a logr.Logger of it")
	var out bytes.Buffer
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	core := zapcore.NewCore(zapcore.NewJSONEncoder(config), zapcore.AddSync(&out), zapcore.Level(-2)) // V(2) is zap's level -2
	behindKlog(zapr.NewLogger(zap.New(core)), func() {
		klog.InfoS("Synced", "pod", klog.KObj(cart))
		klog.Background().V(2).Info("Compared", "pod", klog.KObj(cart))
		klog.Background().V(3).Info("Too much")
		klog.Warningf("%d left", 3)
	})
	d.Entry("zap", "", strings.TrimSpace(out.String()))
	d.Why("what goes through klog is zap's now. --log-format=json is this, with better names: cmd/internal/logging")
}

func clientGo(ctx context.Context, d *demo.Demo) {
	d.Step("client-go's own lines come out the same way")
	cfg := rest.CopyConfig(d.Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport.NewDebuggingRoundTripper(next, transport.DebugByContext)
	})
	maps := demo.Must(kubernetes.NewForConfig(cfg)).CoreV1().ConfigMaps(d.Namespace)
	d.Put(ctx, "logged", "a")
	both(d, 6, func(logger klog.Logger) {
		ctx := klog.NewContext(ctx, klog.LoggerWithValues(klog.LoggerWithName(logger, "demo"), "configMap", klog.KRef("", "a")))
		warn := metav1.PatchOptions{FieldValidation: metav1.FieldValidationWarn}
		demo.Must(maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"colour":"red"}`), warn))
	})
	d.Why("a warning of the server's, and at level 6 each request: with the name and the values of the context that was given")
}
