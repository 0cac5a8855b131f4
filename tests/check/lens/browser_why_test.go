package lens

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/controller"
	"glasswatch/internal/apiserver"
	"glasswatch/internal/apiserver/apiservertest"
	why "glasswatch/lens"
	"glasswatch/listwatch"
	"glasswatch/sharedinformer"
)

// The picture of docs/use/why.md is of a program's page as it is. Times differ, so the file is not compared, but taken
// anew by -update.
func TestPictures_ShowWhyAKeyWakesItself(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	work(t)
	s := apiservertest.Start(t, apiserver.Options{})
	l := why.New(why.Options{On: true})
	apiservertest.Go(t, func(ctx context.Context) error { return noteWhen(ctx, l, s.Config) })
	s.Put("web", "a")
	apiservertest.Eventually(t, "the last pass is over", func() error {
		if keys := l.Keys(); len(keys) == 1 && keys[0].Total == passes+1 && !keys[0].Running {
			return nil
		}
		return errors.New(l.Why("default/web"))
	})
	server := httptest.NewServer(l.Handler())
	t.Cleanup(server.Close)

	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	defer cancel()
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1180, 790), prefers("color-scheme", "light"),
		chromedp.Navigate(server.URL+"/?key=default/web")))
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText`))
	require.NoError(t, err)
	require.Contains(t, text, "It wakes itself: its last reconciles were caused by its own writes, which changed .metadata.annotations.seen-at.")
	file := filepath.Join(pictures, "why.png")
	if *update {
		shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, withPalette(t, shot), 0o644))
	}
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(150<<10))
	page, err := os.ReadFile("../../../docs/use/why.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "pictures/why.png")
}

// passes is how often noteWhen writes.
const passes = 8

// noteWhen is a controller that notes in each ConfigMap when it saw it.
func noteWhen(ctx context.Context, l *why.Lens, cfg *rest.Config) error {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(l.Transport)
	client := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
	lw, err := listwatch.NewForConfig[*corev1.ConfigMap](cfg, corev1.SchemeGroupVersion.WithResource("configmaps"), listwatch.Options{})
	if err != nil {
		return err
	}
	informer := sharedinformer.New(lw, sharedinformer.Options[*corev1.ConfigMap]{Observe: l.ObserveInformer("configmaps")})
	l.AddInformer("configmaps", informer)
	left := passes
	c := controller.New(controller.Func[listwatch.Key](func(ctx context.Context, key listwatch.Key) (controller.Result, error) {
		if left == 0 {
			return controller.Result{}, nil
		}
		left--
		obj, found := informer.Store().GetByKey(key)
		if !found {
			return controller.Result{}, fmt.Errorf("%s is not there", key)
		}
		obj = obj.DeepCopy()
		metav1.SetMetaDataAnnotation(&obj.ObjectMeta, "seen-at", time.Now().Format(time.RFC3339Nano))
		_, err := client.Update(ctx, obj, metav1.UpdateOptions{})
		return controller.Result{}, err
	}), controller.Options[listwatch.Key]{Observe: why.ObserveController[listwatch.Key](l, "note-when")})
	l.AddQueue("note-when", c)
	if _, err := informer.AddHandler(controller.EnqueueObject[*corev1.ConfigMap](c), sharedinformer.HandlerOptions{Name: "enqueue"}); err != nil {
		return err
	}
	ended := make(chan error)
	go func() { ended <- informer.Run(ctx) }()
	return errors.Join(c.Run(ctx), <-ended)
}
