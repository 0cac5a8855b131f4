package suite

import (
	"context"

	"k8s.io/client-go/rest"

	"glasswatch/controller/controllertest"
)

// Scenario lets an operator make a shop, change and mend it, rename its database, and take it down, for each fault at each of its requests. crd is the file with the
// definition.
func Scenario(impl Implementation, crd string) controllertest.Scenario {
	const shop = `
apiVersion: cloudmanagercontroller.huayun.com/v1
kind: CloudManager
metadata: {name: shop}
spec:
  front: {deployment: {name: ake-front, image: "nginx:1.20"}}
  identity: {deployment: {name: cm-identity, image: "busybox:1.32.1"}}
  db: {statefulSet: {name: cm-db, image: "mariadb:10.6", storage: {size: 1Gi}}}
`
	settle := controllertest.Settle
	return controllertest.Scenario{
		CRDs:  []string{crd},
		World: []controllertest.Start{controllertest.Workloads},
		Start: func(ctx context.Context, cfg *rest.Config) error { return impl.Start(ctx, cfg, "default") },
		Steps: []controllertest.Step{
			controllertest.ApplyText(shop), settle(),
			controllertest.Patch("cloudmanager/shop", `{"spec":{"front":{"deployment":{"image":"nginx:1.21"}}}}`), settle(),
			controllertest.Delete("deployment/ake-front"), settle(),
			controllertest.Patch("cloudmanager/shop", `{"spec":{"db":{"statefulSet":{"name":"cm-db2"}}}}`), settle(),
			controllertest.Patch("cloudmanager/shop", `{"spec":{"identity":{"deployment":{"image":"busybox:1.36"}}}}`), settle(),
			controllertest.Delete("cloudmanager/shop"), settle(),
		},
	}
}
