package kubectllite

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
)

// deleted are objects that are, or are not, there.
func deleted() []input {
	const remove = "delete -f demo.yaml"
	two := documents(configMap("a", "1"), configMap("b", "1"))
	return []input{
		on("delete, and again", documents(service, deployment), "apply -f demo.yaml", remove, remove,
			"delete --ignore-not-found -f demo.yaml"),
		{"delete, one of three not there", func(p *place) {
			p.create(configMaps, configMap("a", "1"))
			p.create(configMaps, configMap("c", "1"))
			p.write("demo.yaml", documents(configMap("a", "1"), configMap("b", "1"), configMap("c", "1")))
			p.run(remove, "")
		}},
		{"delete by label", func(p *place) {
			p.create(configMaps, configMap("a", "1"))
			p.write("demo.yaml", documents(configMap("a", "1"), service))
			p.run("delete -l app=demo -f demo.yaml", "")
			p.run("delete -l app=none -f demo.yaml", "")
			p.run("delete -l app=demo --ignore-not-found=false -f demo.yaml", "")
		}},
		on("delete, names only", two, "apply -f demo.yaml", "delete -o name -f demo.yaml"),
		on("delete, dry run", two, "apply -f demo.yaml", "delete --dry-run=server -f demo.yaml"),
		on("delete what is of the cluster, with -n", definition, "apply -f demo.yaml", "delete -n $NS -f demo.yaml"),
		// Without the finalizer, the server may have collected the object with its namespace before the program comes to it.
		on("delete a namespace with its object", strings.Replace(namespaced, "{name: demo,", "{name: demo, finalizers: [example.com/held],", 1),
			"apply -f demo.yaml", "delete -f demo.yaml --wait=false"),
		{"delete standard input", func(p *place) {
			p.create(configMaps, configMap("a", "1"))
			p.run("delete -f -", configMap("a", "1"))
		}},
		{"delete no such file", func(p *place) { p.run("delete -f nosuch.yaml", "") }},
		on("delete with tabs", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: demo\n", remove),
		on("delete with words", configMap("a", "1"), "delete -f demo.yaml configmap a"),
	}
}

// waited are objects with finalizers.
func waited() []input {
	return []input{
		{"wait until a finalizer is gone", func(p *place) {
			p.create(configMaps, held("demo"))
			p.write("demo.yaml", configMap("demo", "1"))
			released := make(chan error, 1)
			go func() { released <- p.release("demo") }()
			p.run("delete -f demo.yaml", "")
			require.NoError(p.t, <-released)
		}},
		{"wait in vain", func(p *place) {
			p.create(configMaps, held("demo"))
			p.write("demo.yaml", configMap("demo", "1"))
			p.run("delete --timeout=2s -f demo.yaml", "")
		}},
		{"do not wait", func(p *place) {
			p.create(configMaps, held("demo"))
			p.write("demo.yaml", configMap("demo", "1"))
			p.run("delete --wait=false -f demo.yaml", "")
		}},
	}
}

// flags are the command line's own errors.
func flags() []input {
	return []input{
		{"no file", func(p *place) { p.run("apply", ""); p.run("delete", "") }},
		{"an unknown command", func(p *place) { p.run("abc", ""); p.run("abc -f demo.yaml", "") }},
		{"a misspelt command", func(p *place) { p.run("aply -f demo.yaml", "") }},
		{"an unknown flag", func(p *place) { p.run("apply --filenam=demo.yaml", ""); p.run("delete -x", "") }},
		{"a flag without its value", func(p *place) { p.run("apply -f", "") }},
		{"a word too many", func(p *place) { p.run("apply -f demo.yaml more", "") }},
		on("refused flags", configMap("a", "1"), "apply --prune -f demo.yaml", "apply --dry-run=server -o nonsense -f demo.yaml", "delete -o yaml -f demo.yaml",
			"apply --dry-run=maybe -f demo.yaml", "apply --dry-run=client -f demo.yaml"),
		on("a bad selector", configMap("a", "1"), "apply -l a=(b -f demo.yaml"),
		on("no such context", configMap("a", "1"), "apply --context=nosuch -f demo.yaml"),
		on("no such kubeconfig", configMap("a", "1"), "apply --kubeconfig=nosuch -f demo.yaml"),
		{"a server that is not there", func(p *place) {
			path := filepath.Join(p.dir, "kubeconfig")
			text, err := os.ReadFile(path)
			require.NoError(p.t, err)
			at := strings.Index(string(text), "server: ")
			line, rest, _ := strings.Cut(string(text)[at:], "\n")
			require.NotEmpty(p.t, line)
			p.write("nowhere", string(text)[:at]+"server: http://127.0.0.1:1\n"+rest)
			p.write("demo.yaml", configMap("a", "1"))
			p.run("delete --kubeconfig=nowhere -f demo.yaml", "")
			p.run("apply --kubeconfig=nowhere -f demo.yaml", "")
		}},
	}
}
