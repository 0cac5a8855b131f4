package kubectllite

import (
	"fmt"
	"slices"
	"strings"
)

// input is what both programs are given. $NS is the namespace; each program has its own.
type input struct {
	name string
	play func(p *place)
}

func inputs() []input {
	return slices.Concat(applied(), files(), badDocuments(), refusals(), deleted(), waited(), flags())
}

// on is an input of one file and the commands that use it.
func on(name, file string, lines ...string) input {
	return input{name, func(p *place) {
		p.write("demo.yaml", file)
		for _, line := range lines {
			p.run(line, "")
		}
	}}
}

func configMap(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  v: %q\n", name, value)
}

// documents puts several into one file.
func documents(all ...string) string { return strings.Join(all, "---\n") }

const (
	service = `apiVersion: v1
kind: Service
metadata:
  name: demo
  labels: {app: demo}
spec:
  type: ClusterIP
  selector: {app: demo}
  ports:
  - {port: 80, targetPort: 8080}
`
	secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: demo}\nstringData: {k: v}\n"

	namespaced = `apiVersion: v1
kind: Namespace
metadata: {name: $NS-other}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: demo, namespace: $NS-other}
data: {v: "1"}
`
	deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: demo}
spec:
  replicas: 0
  selector: {matchLabels: {app: demo}}
  template:
    metadata: {labels: {app: demo}}
    spec:
      containers:
      - {name: web, image: nginx}
`
	definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.$NS.example.com}
spec:
  group: $NS.example.com
  scope: Namespaced
  names: {kind: Shop, plural: shops, singular: shop, listKind: ShopList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, minimum: 1}
`
	shop = "apiVersion: $NS.example.com/v1\nkind: Shop\nmetadata: {name: corner}\nspec: {size: 3}\n"
)

// applied are objects that are made and changed.
func applied() []input {
	const apply = "apply -f demo.yaml"
	return []input{
		on("a service, twice", service, apply, apply),
		{"a file that changes", func(p *place) {
			p.write("demo.yaml", service)
			p.run(apply, "")
			p.write("demo.yaml", strings.Replace(service, "port: 80,", "port: 81,", 1))
			p.run(apply, "")
		}},
		{"a field that leaves the file", func(p *place) {
			p.write("demo.yaml", configMap("demo", "1")+"  w: x\n")
			p.run(apply, "")
			p.write("demo.yaml", configMap("demo", "1"))
			p.run(apply, "")
		}},
		on("a deployment", deployment, apply),
		on("several documents", documents(configMap("a", "1"), service, secret), apply),
		on("a list", `{"apiVersion": "v1", "kind": "List", "items": [
			{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
			{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}}]}`, apply),
		on("a list of one kind", "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n", apply),
		on("a namespace with its object", namespaced, apply, apply),
		{"a definition with its object in one file", func(p *place) {
			p.write("demo.yaml", documents(definition, shop))
			p.run(apply, "")
			p.established()
			p.run(apply, "")
			p.write("bad.yaml", strings.Replace(shop, "3", "0", 1))
			p.run("apply -f bad.yaml", "")
			p.write("gone.yaml", documents(shop, definition)) // the other way round, the objects may be gone with the definition
			p.run("delete -f gone.yaml", "")
		}},
		{"an object of somebody else", func(p *place) {
			p.create(configMaps, configMap("demo", "theirs"))
			p.write("demo.yaml", configMap("demo", "ours"))
			p.run(apply, "")
			p.run("apply --force-conflicts -f demo.yaml", "")
		}},
		{"a value that somebody else owns as well", func(p *place) {
			p.create(configMaps, configMap("demo", "1"))
			p.write("demo.yaml", configMap("demo", "1"))
			p.run(apply, "")
		}},
		{"two conflicts and a good document", func(p *place) {
			p.create(configMaps, configMap("a", "theirs"))
			p.create(configMaps, configMap("b", "theirs"))
			p.write("demo.yaml", documents(configMap("a", "ours"), configMap("b", "ours"), configMap("c", "ours")))
			p.run(apply, "")
		}},
		{"an object that is being deleted", func(p *place) {
			p.create(configMaps, held("demo"))
			p.delete(configMaps, "demo")
			p.write("demo.yaml", configMap("demo", "2"))
			p.run("apply --force-conflicts -f demo.yaml", "")
		}},
		on("a dry run", configMap("demo", "1"), "apply --dry-run=server -f demo.yaml", apply, "apply --dry-run=server -f demo.yaml"),
		on("by label", documents(configMap("a", "1"), service), "apply -l app=demo -f demo.yaml", "apply -l app=none -f demo.yaml"),
		on("names only", documents(configMap("a", "1"), deployment), "apply -o name -f demo.yaml"),
		{"500 documents", func(p *place) {
			var all []string
			for i := range 500 {
				all = append(all, configMap(fmt.Sprintf("c-%03d", i), "1"))
			}
			p.write("demo.yaml", documents(all...))
			p.run(apply, "")
			p.run("delete --wait=false -f demo.yaml", "") // kubectl asks for five of them a second
		}},
		on("two megabytes", configMap("demo", strings.Repeat("x", 2<<20)), apply),
		on("two megabytes of secrets", "apiVersion: v1\nkind: Secret\nmetadata: {name: demo}\nstringData: {k: "+strings.Repeat("x", 2<<20)+"}\n", apply),
	}
}

// held has a finalizer that nobody removes.
func held(name string) string {
	return strings.Replace(configMap(name, "1"), "  name:", "  finalizers: [example.com/held]\n  name:", 1)
}

// files are the ways to name them.
func files() []input {
	return []input{
		{"standard input", func(p *place) { p.run("apply -f -", documents(configMap("a", "1"), secret)) }},
		{"JSON", func(p *place) {
			p.run("apply -f -", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}
				{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)
		}},
		{"no such file", func(p *place) { p.run("apply -f nosuch.yaml", "") }},
		on("no such file beside a good one", configMap("a", "1"), "apply -f nosuch.yaml -f demo.yaml", "apply -f demo.yaml,nosuch.yaml,nosuch2.yaml"),
		{"a folder", func(p *place) {
			p.write("dir/b.yaml", configMap("b", "1"))
			p.write("dir/a.json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
			p.write("dir/readme.txt", "no object")
			p.write("dir/deeper/c.yml", configMap("c", "1"))
			p.run("apply -f dir", "")
			p.run("apply -R -f dir", "")
			p.run("delete -R -f dir", "")
		}},
		{"a folder without objects", func(p *place) { p.write("dir/readme.txt", ""); p.run("apply -f dir", "") }},
		on("an empty file", "", "apply -f demo.yaml", "delete -f demo.yaml"),
		on("empty documents", "---\n---\n# nothing\n---\n"+configMap("a", "1")+"---\n", "apply -f demo.yaml"),
		on("three dashes in a value", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  v: |\n    one\n    ---\n    two\n",
			"apply -f demo.yaml"),
		{"a byte order mark", func(p *place) { p.write("demo.yaml", "\ufeff"+configMap("a", "1")); p.run("apply -f demo.yaml", "") }},
	}
}

// badDocuments cannot be read, or not be mapped to a resource.
func badDocuments() []input {
	const apply = "apply -f demo.yaml"
	good := configMap("good", "1")
	return []input{
		on("tabs", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: demo\n", apply),
		on("no YAML in the second document", documents(good, "a: [\n"), apply),
		on("a scalar", "just words\n", apply),
		on("a duplicate key", configMap("demo", "1")+"  v: \"2\"\n", apply),
		on("a duplicate key in JSON", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","name":"b"}}`, apply),
		on("an unknown field", strings.Replace(service, "selector:", "selektor:", 1), apply),
		on("a value of another type", strings.Replace(service, "port: 80", `port: "eighty"`, 1), apply),
		on("an annotation that is a number", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: demo, annotations: {a: 1}}\n", apply),
		on("no kind", documents("apiVersion: v1\nmetadata: {name: demo}\n", good), apply),
		on("neither kind nor version", "metadata: {name: demo}\n", apply, "delete -f demo.yaml"),
		on("an unknown kind", documents("apiVersion: v1\nkind: Nonsense\nmetadata: {name: demo}\n", good), apply),
		on("an unknown group", documents("apiVersion: no.example.com/v1\nkind: ConfigMap\nmetadata: {name: demo}\n", good), apply, "delete -f demo.yaml"),
		on("no name", "apiVersion: v1\nkind: ConfigMap\n", apply, "delete -f demo.yaml"),
		on("a generated name", "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: demo-}\n", apply),
		on("managed fields in the file", strings.Replace(good, "  name:", "  managedFields: [{manager: me}]\n  name:", 1), apply),
		on("a list with a bad item", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Nonsense, metadata: {name: a}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n", apply),
	}
}

// refusals come from the server.
func refusals() []input {
	const apply = "apply -f demo.yaml"
	return []input{
		on("an unsupported value", strings.Replace(service, "ClusterIP", "ClusterIP1", 1), apply),
		on("two bad documents and a good one", documents(strings.Replace(service, "ClusterIP", "ClusterIP1", 1), configMap("good", "1"),
			configMap("Bad_Name", "1")), apply),
		on("three causes", strings.NewReplacer("ClusterIP", "ClusterIP1", "port: 80,", "port: 0, protocol: WATER,").Replace(service), apply),
		on("a bad name", configMap("Bad_Name", "1"), apply),
		on("a name that is a path", configMap("a/b", "1"), apply, "delete -f demo.yaml"),
		on("a bad label", strings.Replace(service, "{app: demo}\nspec", "{app: -demo-}\nspec", 1), apply),
		on("another namespace than -n", strings.Replace(configMap("demo", "1"), "  name:", "  namespace: other\n  name:", 1),
			"apply -n $NS -f demo.yaml", "delete -n $NS -f demo.yaml"),
		on("a namespace that is not there", strings.Replace(configMap("demo", "1"), "  name:", "  namespace: $NS-none\n  name:", 1),
			apply, "delete -f demo.yaml"),
		on("-n a namespace that is not there", configMap("demo", "1"), "apply -n $NS-none -f demo.yaml"),
		on("a cluster IP that is none", strings.Replace(service, "type: ClusterIP", "clusterIP: nowhere", 1), apply),
		{"a field that must not change", func(p *place) {
			p.write("demo.yaml", deployment)
			p.run(apply, "")
			p.write("demo.yaml", strings.ReplaceAll(deployment, "app: demo", "app: other"))
			p.run(apply, "")
		}},
		{"a version that is not the object's", func(p *place) {
			p.create(configMaps, configMap("demo", "1"))
			p.write("demo.yaml", strings.Replace(configMap("demo", "1"), "  name:", "  resourceVersion: \"1\"\n  name:", 1))
			p.run(apply, "")
		}},
	}
}
