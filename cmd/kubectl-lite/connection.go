package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// connector finds the cluster, and the namespace of objects that name none. enforced: it was asked for by flag.
type connector func() (cfg *rest.Config, namespace string, enforced bool, err error)

// fromKubeconfig takes --kubeconfig, $KUBECONFIG or the Pod's service account. It never takes the file in the home
// directory, which is that of the cluster used last.
func (g *global) fromKubeconfig() (*rest.Config, string, bool, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: g.kubeconfig}
	if env := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); g.kubeconfig == "" && env != "" {
		rules.Precedence = filepath.SplitList(env)
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: g.context}
	overrides.Context.Namespace = g.namespace
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, "", false, err
	}
	if raw.Contexts[g.context] == nil && g.context != "" {
		return nil, "", false, fmt.Errorf("context %q does not exist", g.context)
	}
	namespace, enforced, err := loader.Namespace()
	if err != nil && !clientcmd.IsEmptyConfig(err) {
		return nil, "", false, err
	}
	cfg, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = errors.New("no cluster: give --kubeconfig, set KUBECONFIG, or run in a Pod; --demo brings its own")
	}
	return cfg, namespace, enforced, err
}

// connection is a cluster for the time of one command. It implements [resource.RESTClientGetter].
type connection struct {
	config    *rest.Config
	namespace string
	enforced  bool
	dynamic   dynamic.Interface
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.RESTMapper
}

func (g *global) open(stderr io.Writer) (*connection, error) {
	cfg, namespace, enforced, err := g.connect()
	if err != nil {
		return nil, err
	}
	cfg = rest.CopyConfig(cfg)
	// client-go's five requests a second are for programs that run for long. Here the server's own fairness is enough.
	cfg.QPS = -1
	cfg.WarningHandler = rest.NewWarningWriter(stderr, rest.WarningWriterOptions{Deduplicate: true})
	c := &connection{config: cfg, namespace: namespace, enforced: enforced}
	if c.dynamic, err = dynamic.NewForConfig(cfg); err != nil {
		return nil, err
	}
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	// In memory, it is asked for once a command and is never of yesterday, as kubectl's on disk may be. The mapper asks
	// again for a kind that it does not know.
	c.discovery = memory.NewMemCacheClient(client)
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(c.discovery)
	return c, nil
}

// ToRESTConfig implements resource.RESTClientGetter.
func (c *connection) ToRESTConfig() (*rest.Config, error) { return c.config, nil }

// ToDiscoveryClient implements resource.RESTClientGetter.
func (c *connection) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return c.discovery, nil
}

// ToRESTMapper implements resource.RESTClientGetter.
func (c *connection) ToRESTMapper() (meta.RESTMapper, error) { return c.mapper, nil }

// documents reads the files. An object that cannot be read is an error of the result, and does not stop the others.
func (c *connection) documents(o *common, schema resource.ContentValidator) *resource.Result {
	return resource.NewBuilder(c).
		Unstructured().
		Schema(schema).
		ContinueOnError().
		NamespaceParam(c.namespace).DefaultNamespace().
		FilenameParam(c.enforced, &resource.FilenameOptions{Filenames: o.files, Recursive: o.recursive}).
		LabelSelectorParam(o.selector).
		RequireObject(schema != nil).
		Flatten(). // a List is what is in it
		Do()
}

// client is for the resource of info, in its namespace if it has one.
func (c *connection) client(info *resource.Info) dynamic.ResourceInterface {
	if info.Namespaced() {
		return c.dynamic.Resource(info.Mapping.Resource).Namespace(info.Namespace)
	}
	return c.dynamic.Resource(info.Mapping.Resource)
}
