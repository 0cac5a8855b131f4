// Command informer-api answers reads of any kind over HTTP, from informers that start at the first read of a kind. What
// a cache cannot answer is passed on to the API server. With --demo it shows what that costs and what it saves.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "informer-api:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parse(args, out)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	stop, err := o.log.Start(os.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if o.demo {
		return runDemo(ctx, o, out)
	}
	cfg, source, err := o.cluster.Config()
	if err != nil {
		return err
	}
	if err := o.readToken(out); err != nil {
		return err
	}
	s, err := newServer(cfg, o)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Serving", "what", "api", "address", listener.Addr().String(), "cluster", source)
	return s.serve(ctx, listener)
}

// readToken reads the token that callers must present, or makes one for this run and prints it.
func (o *options) readToken(out io.Writer) error {
	if o.auth == authReview {
		return nil // the cluster knows its users
	}
	if o.tokenFile == "" {
		o.token = rand.Text()
		_, err := fmt.Fprintf(out, "curl -sH 'Authorization: Bearer %s' http://%s/pod/list\n", o.token, o.listen)
		return err
	}
	raw, err := os.ReadFile(o.tokenFile)
	if o.token = strings.TrimSpace(string(raw)); err == nil && len(o.token) < 16 {
		err = errors.New("want at least 16 characters")
	}
	if err != nil {
		return fmt.Errorf("--token-file: %w", err)
	}
	return nil
}
