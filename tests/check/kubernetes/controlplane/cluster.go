package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// identity is a user that the API server knows by a token.
type identity struct{ name, user, groups string }

var identities = []identity{
	{"admin", "admin", "system:masters"},
	{"controller", "system:serviceaccount:glasswatch:ingress-controller", "system:serviceaccounts,system:serviceaccounts:glasswatch"},
	{"stranger", "stranger", ""},
}

// cluster is the state that outlives a process. Each process gets the ports, and reads the rest from the directory,
// which the first start fills.
type cluster struct {
	dir                         string
	apiPort, etcdPort, peerPort int

	Tokens map[string]string // by identity
}

func openCluster(dir string, ports []int) (*cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, apiPort: ports[0], etcdPort: ports[1], peerPort: ports[2]}
	raw, err := os.ReadFile(c.path("cluster.json"))
	if err == nil {
		return c, json.Unmarshal(raw, c)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return c, c.make()
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) make() error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	c.Tokens = map[string]string{}
	var csv strings.Builder
	for _, id := range identities {
		c.Tokens[id.name] = rand.Text()
		fmt.Fprintf(&csv, "%s,%s,%s,%q\n", c.Tokens[id.name], id.user, id.name, id.groups)
	}
	if err := os.WriteFile(c.path("tokens.csv"), []byte(csv.String()), 0o600); err != nil {
		return err
	}
	if err := writeKey(c.path("service-account.key")); err != nil {
		return err
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(c.path("cluster.json"), raw, 0o600)
}

func writeKey(path string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return os.WriteFile(path, pem.EncodeToMemory(block), 0o600)
}

func (c *cluster) etcdURL() string { return fmt.Sprintf("http://127.0.0.1:%d", c.etcdPort) }

// config is for the admin. The API server makes its certificate at its first start, with the authority in the same file.
// It is read here: client-go would keep for minutes what it read of a file that was not yet whole.
func (c *cluster) config() (*rest.Config, error) {
	authority, err := os.ReadFile(c.path("certs/apiserver.crt"))
	return &rest.Config{
		Host:            fmt.Sprintf("https://127.0.0.1:%d", c.apiPort),
		BearerToken:     c.Tokens["admin"],
		TLSClientConfig: rest.TLSClientConfig{CAData: authority},
		QPS:             -1,
	}, err
}

// waitReady returns when the API server answers /readyz, and every identity has its kubeconfig.
func (c *cluster) waitReady(ctx context.Context, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	last := errors.New("it was not asked yet")
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("it ended before it was ready: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %w", last)
		case <-tick.C:
		}
		if last = c.askReady(ctx); last == nil {
			return c.writeKubeconfigs()
		}
	}
}

func (c *cluster) askReady(ctx context.Context) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

func (c *cluster) writeKubeconfigs() error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	for _, id := range identities {
		k := clientcmdapi.NewConfig()
		k.Clusters["controlplane"] = &clientcmdapi.Cluster{Server: cfg.Host, CertificateAuthorityData: cfg.CAData}
		k.AuthInfos[id.name] = &clientcmdapi.AuthInfo{Token: c.Tokens[id.name]}
		k.Contexts["controlplane"] = &clientcmdapi.Context{Cluster: "controlplane", AuthInfo: id.name}
		k.CurrentContext = "controlplane"
		if err := clientcmd.WriteToFile(*k, c.path(id.name+".kubeconfig")); err != nil {
			return err
		}
	}
	return nil
}
