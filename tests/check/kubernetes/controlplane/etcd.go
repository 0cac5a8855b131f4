package main

import (
	"context"
	"fmt"
	"net/url"

	"go.etcd.io/etcd/server/v3/embed"
)

// startEtcd returns when etcd takes requests. Nothing is flushed to the disk: the data must survive a killed process,
// not a power failure.
func startEtcd(ctx context.Context, c *cluster) (stop func(), err error) {
	client, err := url.Parse(c.etcdURL())
	if err != nil {
		return nil, err
	}
	peer, err := url.Parse(fmt.Sprintf("http://127.0.0.1:%d", c.peerPort))
	if err != nil {
		return nil, err
	}
	cfg := embed.NewConfig()
	cfg.Dir = c.path("etcd")
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.SocketOpts.ReusePort = true // with the process that holds the ports
	cfg.UnsafeNoFsync = true
	cfg.LogLevel = "error"
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.Server.ReadyNotify():
		return e.Close, nil
	case err = <-e.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	e.Close()
	return nil, err
}
