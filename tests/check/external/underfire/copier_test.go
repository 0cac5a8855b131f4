package underfire

import (
	"context"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"glasswatch/controller/controllertest"
)

const text = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {text: one}
`

// With HASTY set it is the copier of many tutorials.
func TestCopier_UnderFire(t *testing.T) {
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	hasty := os.Getenv("HASTY") != ""
	controllertest.Run(t, controllertest.Scenario{
		Start: func(ctx context.Context, cfg *rest.Config) error { return Run(ctx, cfg, hasty) },
		Steps: []controllertest.Step{
			controllertest.ApplyText(text), controllertest.Settle(),
			controllertest.Patch("configmap/web", `{"data":{"text":"two"}}`), controllertest.Settle(),
			controllertest.Delete("secret/web"), controllertest.Settle(),
			controllertest.Delete("configmap/web"), controllertest.Settle(),
		},
	})
}
