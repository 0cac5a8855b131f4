package kubectl

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"glasswatch/internal/apiserver/apiservertest"
)

func TestKubectl_DrivesTheIngressController(t *testing.T) {
	onBothServers(t, func(t *testing.T, s *terminal) {
		s.ok("create service clusterip web --tcp=80:8080")
		s.ok("annotate service web ingress/http=true")
		s.ok("wait ingress web" + untilCreated)
		s.matches("get ingress", `(?m)^NAME\s+CLASS\s+HOSTS\s+ADDRESS\s+PORTS\s+AGE\nweb\s+nginx\s+example\.com\s+80\s+\d+[ms]\S*$`)
		s.matches("get service web", `(?m)^NAME\s+TYPE\s+CLUSTER-IP\s+EXTERNAL-IP\s+PORT\(S\)\s+AGE\nweb\s+ClusterIP\s+\d+\.\d+\.\d+\.\d+\s+<none>\s+80/TCP\s+\d+[ms]\S*$`)
		s.matches("describe ingress web", `example\.com\s*\n\s+/\s+web:80`)

		s.ok("annotate service web ingress/host=shop.example.com")
		s.waitHost("web", "shop.example.com")

		s.edit("ingress/web", "shop.example.com", "evil.example.com")
		s.waitHost("web", "shop.example.com")
		s.edit("service/web", "shop.example.com", "deli.example.com")
		s.waitHost("web", "deli.example.com")

		uid := s.ok("get ingress web -o jsonpath={.metadata.uid}")
		s.ok("delete ingress web")
		s.ok("wait ingress web" + untilCreated)
		require.NotEqual(t, uid, s.ok("get ingress web -o jsonpath={.metadata.uid}"))

		s.ok("annotate --overwrite service web ingress/http=maybe")
		s.until("get events", `Warning\s+InvalidAnnotation\s+service/web\s+annotation ingress/http: want true or false, got "maybe"`)
		s.ok("get ingress web")

		s.ok("annotate --overwrite service web ingress/http=false")
		s.ok("wait ingress web" + untilDeleted)

		s.ok("annotate --overwrite service web ingress/http=true")
		s.ok("wait ingress web" + untilCreated)
		s.ok("delete service web")
		s.ok("wait ingress web" + untilDeleted)
	})
}

func TestKubectl_ASelfMadeIngressIsLeftAlone(t *testing.T) {
	onBothServers(t, func(t *testing.T, s *terminal) {
		s.ok("create ingress web --rule=mine.example.com/*=other:80")
		s.ok("create service clusterip web --tcp=80:8080")
		s.ok("annotate service web ingress/http=true")
		s.until("get events", `Warning\s+NameConflict\s+service/web`)
		require.Equal(t, "mine.example.com", s.ok("get ingress web -o jsonpath={.spec.rules[0].host}"))
		s.ok("delete ingress web")
		s.ok("wait ingress web" + untilCreated) // a field of what is not there is an error at once
		s.waitHost("web", "example.com")
		s.ok("create namespace other")
		s.ok("-n other create service clusterip web --tcp=80:8080")
		s.ok("-n other annotate service web ingress/http=true")
		s.ok("-n other wait ingress web" + untilCreated)
		s.matches("get ingress -A", `(?m)^NAMESPACE\s+NAME\s+CLASS(.|\n)*^default\s+web(.|\n)*^other\s+web`)
		s.ok("delete namespace other" + timeout)
		s.fails("", "get namespace other", `namespaces "other" not found`)
	})
}

const manifest = `apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    ingress/http: "true"
spec:
  selector: {app: web}
  ports:
  - name: http
    port: 80
`

func TestKubectl_AppliesWithValidation(t *testing.T) {
	onBothServers(t, func(t *testing.T, s *terminal) {
		require.Contains(t, s.okWith(manifest, "apply -f -"), "service/web created")
		require.Contains(t, s.okWith(manifest, "apply -f -"), "service/web unchanged")
		s.ok("wait ingress web" + untilCreated)
		changed := strings.Replace(manifest, "port: 80", "port: 81", 1)
		out, err := s.run(changed, "diff", "-f", "-")
		require.Error(t, err, "diff exits 1 where there is a difference")
		require.Contains(t, out, "\n+    port: 81\n", "%s", out)
		require.Contains(t, s.okWith(changed, "apply -f -"), "service/web configured")
		s.ok("wait ingress web --for=jsonpath={.spec.rules[0].http.paths[0].backend.service.port.number}=81" + timeout)

		s.fails(strings.Replace(manifest, "selector:", "selektor:", 1), "apply -f -", `unknown field "spec.selektor"`)
		s.fails(manifest, "create -f -", `services "web" already exists`)

		require.Contains(t, s.okWith(changed, "apply --server-side --force-conflicts --field-manager=me -f -"), "serverside-applied")
		others := strings.Replace(changed, "app: web", "app: shop", 1)
		s.fails(others, "apply --server-side --field-manager=you -f -", `conflict with "me": .spec.selector`)
		s.okWith(others, "apply --server-side --field-manager=you --force-conflicts -f -")
		s.matches("get service web --show-managed-fields -o yaml", `manager: you\n\s+operation: Apply`)
		s.ok("patch service web --type=json -p [{\"op\":\"replace\",\"path\":\"/spec/ports/0/port\",\"value\":82}]")
		s.ok("patch service web --type=merge -p {\"metadata\":{\"labels\":{\"a\":\"b\"}}}")
		s.ok("patch service web -p {\"spec\":{\"ports\":[{\"port\":82,\"name\":\"web\"}]}}")
		require.Equal(t, "web", s.ok("get service -l a=b -o jsonpath={.items[*].metadata.name}"))
		require.Equal(t, "", s.ok("get service -l a=c -o jsonpath={.items[*].metadata.name}"))
		s.okWith(manifest, "delete -f -")
		s.ok("wait ingress web" + untilDeleted)
	})
}

func TestKubectl_FindsItsWayAround(t *testing.T) {
	onBothServers(t, func(t *testing.T, s *terminal) {
		s.shows("version", `Server Version: v1\.\d+`)
		s.shows("api-resources", `(?m)^ingresses\s+ing\s+networking\.k8s\.io/v1\s+true\s+Ingress$`)
		s.shows("api-versions", `(?m)^networking\.k8s\.io/v1$`)
		s.matches("explain ingress.spec.rules.host", `FIELD: host <string>`)
		s.matches("get namespaces", `(?m)^default\s+Active`)
		s.fails("", "get service nosuch", `services "nosuch" not found`)
		s.fails("", "get nosuch", `the server doesn't have a resource type "nosuch"`)
		s.ok("create configmap a --from-literal=k=v")
		s.ok("create secret generic s --from-literal=k=v")
		s.matches("get configmap,secret", `configmap/a\s+1\s+\d+[ms]\S*(.|\n)*secret/s\s+Opaque\s+1`)
		s.matches("get configmaps --chunk-size=1 -o name", `configmap/a`)
	})
}

const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: shops.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Shop, plural: shops, singular: shop, shortNames: [sh]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, minimum: 1}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
`

func TestKubectl_ACustomResourceDefinitionOpensItsResource(t *testing.T) {
	onBothServers(t, func(t *testing.T, s *terminal) {
		s.okWith(definition, "apply -f -")
		s.ok("wait crd shops.example.com --for=condition=Established" + timeout)
		s.until("api-resources --api-group=example.com", "shops")
		shop := "apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: corner}\nspec: {size: 3}\n"
		require.Contains(t, s.okWith(shop, "apply -f -"), "shop.example.com/corner created")
		s.matches("get sh", `(?m)^NAME\s+SIZE\s*\ncorner\s+3\s*$`)
		s.fails(strings.Replace(shop, "3", "0", 1), "apply -f -", "spec.size")
		s.fails(strings.Replace(shop, "size", "sise", 1), "apply -f -", `unknown field "spec.sise"`)
		s.until("explain shop.spec", "size\t<integer>")
		s.ok("delete crd shops.example.com")
		s.ok("wait crd shops.example.com" + untilDeleted)
		apiservertest.Eventually(t, "discovery forgets it", func() error {
			// With the discovery documents that kubectl has kept, it would ask and be told 404.
			out, err := s.run("", "get", "shops", "--cache-dir="+t.TempDir())
			if err == nil || !strings.Contains(out, `the server doesn't have a resource type "shops"`) {
				return fmt.Errorf("%v: %s", err, out)
			}
			return nil
		})
	})
}

func TestKubectl_WatchesAsThingsHappen(t *testing.T) {
	onBothServers(t, func(t *testing.T, s *terminal) {
		s.ok("create ingress first --rule=mine.example.com/*=other:80")
		cmd := exec.Command(s.kubectl, "get", "ingress", "-w", "--output-watch-events")
		cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "HOME="+filepath.Dir(s.kubeconfig))
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
		lines := bufio.NewScanner(stdout)
		seen := func(n int, name string) (events []string) {
			late := time.AfterFunc(apiservertest.Patience, func() { _ = cmd.Process.Kill() })
			defer late.Stop()
			for len(events) < n && lines.Scan() {
				if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[1] == name {
					events = append(events, fields[0])
				}
			}
			return events
		}
		require.Equal(t, []string{"ADDED"}, seen(1, "first"), "it has begun to watch")
		s.okWith(manifest, "apply -f -")
		s.ok("wait ingress web" + untilCreated)
		s.ok("delete service web")
		s.ok("wait ingress web" + untilDeleted)
		require.Equal(t, []string{"ADDED", "DELETED"}, seen(2, "web"))
	})
}
