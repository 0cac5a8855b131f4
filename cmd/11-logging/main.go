// Command 11-logging logs: lines a program can search, about objects, at levels, with what the context knows, as text and as JSON.
package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

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
	Layer: "cmd/internal/logging/logging.go", Next: "docs/learn/tour.md, chapter 8",
	Tell: demo.Steps(structured, objects, levels, contexts, clientGo, meanings, defaults, klogFlags,
		secrets, zapped, zapLevels, thresholds, tee), Child: speak}

// synced is a line of level 2 in this file; child.go has another one.
func synced() { klog.V(2).InfoS("Synced") }

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

// key is the name before a value, in klog's text.
var key = regexp.MustCompile(`[\] ](\w+)=["<{\d]`)

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

// conventions is what each V level is for.
var conventions = []string{"an operator must always see it", "what to see if one asks for nothing",
	"steady state, changes: the usual -v", "more about changes", "debugging", "traces", "requests",
	"and headers of the request", "and of the answer, bodies cut off", "and as curl, bodies longer", "and bodies whole"}

func meanings(ctx context.Context, d *demo.Demo) {
	d.Step("Which level means what in Kubernetes, and what client-go adds to one request")
	cfg := rest.CopyConfig(d.Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport.NewDebuggingRoundTripper(next, transport.DebugByContext)
	})
	maps := demo.Must(kubernetes.NewForConfig(cfg)).CoreV1().ConfigMaps(d.Namespace)
	rows := [][]string{{"level", "means", "keys of the lines about one GET"}}
	for v, means := range conventions {
		var out bytes.Buffer
		demo.Must(maps.Get(klog.NewContext(ctx, logging.New(&out, logging.Text, v)), "a", metav1.GetOptions{}))
		var keys []string
		for _, found := range key.FindAllStringSubmatch(out.String(), -1) {
			keys = append(keys, found[1])
		}
		rows = append(rows, []string{strconv.Itoa(v), means, strings.Join(keys, " ")})
	}
	d.Table(rows...)
	d.Why("up to 5 they are a convention of Kubernetes, which programs keep as well as they can.\n" +
		"From 6 on it is client-go's code")
}
