// Command lens shows an informer at work in the browser: an API server in memory, two informers and the ingress
// controller. With --kubeconfig it looks at one resource of a cluster, with --attach at an ingress controller that runs
// elsewhere. It prints the address to open. What goes over HTTP is described in internal/lens/PROTOCOL.md.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"glasswatch/cmd/internal/cluster"
	"glasswatch/internal/lens"
	"glasswatch/internal/lens/look"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "lens:", err)
		os.Exit(1)
	}
}

// options is the command line.
type options struct {
	listen    string
	tokenFile string
	cert, key string
	session   string

	cluster             cluster.Flags
	resource, namespace string
	write               bool
	attach, attachToken string
}

func parse(args []string, out io.Writer) (*options, error) {
	o := &options{}
	fs := pflag.NewFlagSet("lens", pflag.ContinueOnError)
	fs.SetOutput(out)
	fs.SortFlags = false
	fs.StringVar(&o.listen, "listen", "127.0.0.1:0",
		"address of the page; beyond loopback it needs --token-file, --tls-cert and --tls-key")
	fs.StringVar(&o.tokenFile, "token-file", "",
		"file with the token; without it a random one, which is in the printed address")
	fs.StringVar(&o.cert, "tls-cert", "",
		"file with the certificate; its names are the hosts that the page may be opened under")
	fs.StringVar(&o.key, "tls-key", "", "file with the certificate's key")
	fs.StringVar(&o.session, "session", "", "file with a session, which is played")
	fs.StringVar(&o.cluster.Kubeconfig, "kubeconfig", "", "look at a resource of this cluster")
	fs.StringVar(&o.cluster.Context, "context", "", "context of the kubeconfig; without it the current one")
	fs.StringVar(&o.resource, "resource", "services", "with --kubeconfig: as kubectl has it")
	fs.StringVarP(&o.namespace, "namespace", "n", "", "with --kubeconfig: the one to look at; without it all")
	fs.BoolVar(&o.write, "write", false, "with --kubeconfig: let the page apply and delete objects")
	fs.StringVar(&o.attach, "attach", "", "look at an ingress controller: its --lens-addr")
	fs.StringVar(&o.attachToken, "attach-token-file", "", "with --attach: its --lens-token-file")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	return o, o.validate(fs)
}

func (o *options) validate(fs *pflag.FlagSet) error {
	host, _, err := net.SplitHostPort(o.listen)
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("want flags only, got %q", fs.Arg(0))
	case err != nil:
		return fmt.Errorf("--listen: want host:port, got %q: %w", o.listen, err)
	case o.cluster.Kubeconfig == "" && len(given(fs, "context", "resource", "namespace", "write")) > 0:
		return errors.New("--context, --resource, --namespace and --write: have no use without --kubeconfig")
	case (o.attach == "") != (o.attachToken == ""):
		return errors.New("--attach and --attach-token-file: want both or none")
	case len(given(fs, "session", "kubeconfig", "attach")) > 1:
		return errors.New("--session, --kubeconfig and --attach: want one of them")
	case (o.cert == "") != (o.key == ""):
		return errors.New("--tls-cert and --tls-key: want both or none")
	case host != "localhost" && !net.ParseIP(host).IsLoopback() && (o.tokenFile == "" || o.cert == ""):
		const needed = "--listen %s: others can connect, so --token-file, --tls-cert and --tls-key are needed"
		return fmt.Errorf(needed, o.listen)
	}
	return nil
}

func given(fs *pflag.FlagSet, names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !fs.Changed(name) })
}

// secrets returns the token, and what TLS needs or nil.
func (o *options) secrets() (token string, certificate *tls.Certificate, err error) {
	if token = look.NewToken(); o.tokenFile != "" {
		if token, err = look.ReadToken(o.tokenFile); err != nil {
			return "", nil, fmt.Errorf("--token-file: %w", err)
		}
	}
	if o.cert == "" {
		return token, nil, nil
	}
	loaded, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return "", nil, fmt.Errorf("--tls-cert: %w", err)
	}
	return token, &loaded, nil
}

// open begins to look. The handler needs a guard; close ends it.
func (o *options) open() (handler http.Handler, close func(), err error) {
	switch {
	case o.attach != "":
		token, err := look.ReadToken(o.attachToken)
		if err != nil {
			return nil, nil, fmt.Errorf("--attach-token-file: %w", err)
		}
		return lens.Attach(&url.URL{Scheme: "http", Host: o.attach}, token), func() {}, nil
	case o.cluster.Kubeconfig != "":
		cfg, _, err := o.cluster.Config()
		if err != nil {
			return nil, nil, err
		}
		c, err := lens.NewCluster(cfg, o.resource, o.namespace, o.write)
		if err != nil {
			return nil, nil, err
		}
		return c.Handler(), c.Close, nil
	}
	var session lens.Session
	if o.session != "" {
		text, err := os.ReadFile(o.session)
		if err == nil {
			session, err = lens.ReadSession(text)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("--session: %w", err)
		}
	}
	l, err := lens.NewIn(nil, session)
	if err != nil {
		return nil, nil, err
	}
	return l.Handler(), l.Close, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	token, certificate, err := o.secrets()
	if err != nil {
		return err
	}
	klog.SetLogger(logr.Discard())  // the page tells the story; the failures in it are on purpose
	utilruntime.ReallyCrash = false // a handler that panics is a lesson
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	handler, closeLens, err := o.open()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer closeLens()
	guard := &look.Guard{Token: token, Address: listener.Addr(), Next: handler}
	scheme := "http"
	if certificate != nil {
		scheme, guard.Certificate = "https", certificate.Leaf
		listener = tls.NewListener(listener, &tls.Config{
			Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12,
		})
	}
	query := "?token=" + token
	if o.tokenFile != "" {
		query = "?token=… (from --token-file)"
	}
	fmt.Fprintf(out, "Open %s://%s/%s\n", scheme, guard.Address, query)
	return serve(ctx, listener, guard)
}

// serve ends with ctx, and the streams with it.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	end := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer end()
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}
