package clientgo

import (
	"errors"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"glasswatch/tests/tutorials/play"
)

// Insecure sets a field of a configuration before it looks at the error. Where there is no kubeconfig, as in a pod, the configuration is nil:
// the program panics before its fallback to the in-cluster configuration. Look at the error first.
//
// Often said: "set Insecure against certificate errors". It makes the client trust whoever answers. Beside a CA it is refused.
//
// Ways: a configuration has nothing of cache or workqueue to swap.
func Insecure(p *play.Play) {
	connect := func(what string, connect func() (*rest.Config, error)) {
		defer func() {
			panicked := recover()
			if panicked != nil {
				p.Print("%s: panic: %v", what, panicked)
			}
		}()
		config, err := connect()
		p.Print("%s: a configuration %t, not in a cluster %t", what, config != nil, errors.Is(err, rest.ErrNotInCluster))
	}
	missing := filepath.Join(p.TempDir(), "kubeconfig")
	connect("set, then looked at", func() (*rest.Config, error) {
		config, err := clientcmd.BuildConfigFromFlags("", missing)
		config.TLSClientConfig.Insecure = true
		if err != nil {
			return rest.InClusterConfig()
		}
		return config, nil
	})
	connect("looked at first", func() (*rest.Config, error) {
		config, err := clientcmd.BuildConfigFromFlags("", missing)
		if err != nil {
			return rest.InClusterConfig()
		}
		config.TLSClientConfig.Insecure = true
		return config, nil
	})
	_, err := kubernetes.NewForConfig(&rest.Config{Host: "https://cluster", TLSClientConfig: rest.TLSClientConfig{Insecure: true, CAData: []byte("a CA")}})
	p.Print("beside a CA: %v", err)
}
