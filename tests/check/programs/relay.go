package main

import (
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/tools/clientcmd"
)

// relay stands between one program and the API server, and counts the bytes on the wire: TLS, headers and all.
type relay struct {
	listener net.Listener
	server   string // host:port
	fromHere atomic.Int64
	toHere   atomic.Int64

	mu      sync.Mutex // protects what follows
	open    map[net.Conn]bool
	closed  bool
	running sync.WaitGroup
}

// startRelay writes a kubeconfig to dir that leads through the relay.
func startRelay(kubeconfig, dir string) (r *relay, through string, err error) {
	cfg, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return nil, "", err
	}
	r = &relay{open: map[net.Conn]bool{}}
	if r.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, "", err
	}
	for _, cluster := range cfg.Clusters {
		u, err := url.Parse(cluster.Server)
		if err != nil {
			return nil, "", err
		}
		r.server, u.Host = u.Host, r.listener.Addr().String()
		cluster.Server = u.String()
	}
	through = filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*cfg, through); err != nil {
		return nil, "", errors.Join(err, r.listener.Close())
	}
	r.running.Go(r.accept)
	return r, through, nil
}

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.running.Go(func() { r.serve(client) })
	}
}

func (r *relay) serve(client net.Conn) {
	server, err := net.Dial("tcp", r.server)
	if err != nil {
		_ = client.Close()
		return
	}
	if !r.keep(client, server) {
		return
	}
	var up sync.WaitGroup
	up.Go(func() { r.pipe(server, client, &r.fromHere) })
	r.pipe(client, server, &r.toHere)
	up.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, client)
	delete(r.open, server)
}

// keep registers connections for close, or closes them if that has been called.
func (r *relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		if r.closed {
			_ = c.Close()
		}
		r.open[c] = true
	}
	return !r.closed
}

// pipe copies until one side ends, and then ends both.
func (r *relay) pipe(to, from net.Conn, count *atomic.Int64) {
	_, _ = io.Copy(to, io.TeeReader(from, counter{count}))
	_, _ = to.Close(), from.Close()
}

type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}

func (r *relay) close() error {
	err := r.listener.Close()
	r.mu.Lock()
	r.closed = true
	for c := range r.open {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.running.Wait()
	return err
}
