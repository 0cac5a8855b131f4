// Command lens shows an informer at work in the browser: an API server in memory, two informers and the ingress
// controller. With --kubeconfig it looks at one resource of a cluster, with --attach at a program that runs elsewhere: an
// ingress controller, or one with a lens.Handler. It prints the address to open. What goes over HTTP is described in internal/lens/PROTOCOL.md.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
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
	"strings"
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
	listen, tokenFile, cert, key string
	session                      string
	cluster                      cluster.Flags
	resource, namespace          string
	write                        bool
	attach, attachToken          string
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
	fs.BoolVar(&o.write, "write", false, "with --kubeconfig: let the page apply and delete objects of any kind but Secrets, as the kubeconfig may")
	fs.StringVar(&o.attach, "attach", "", "look at a program: the URL of its lens.Handler, or an ingress controller's --lens-addr")
	fs.StringVar(&o.attachToken, "attach-token-file", "", "with --attach: file with the program's token, which an ingress controller needs: its --lens-token-file")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	return o, o.validate(fs)
}

func (o *options) validate(fs *pflag.FlagSet) error {
	_, _, err := net.SplitHostPort(o.listen)
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("want flags only, got %q", fs.Arg(0))
	case err != nil:
		return fmt.Errorf("--listen: want host:port, got %q: %w", o.listen, err)
	case o.cluster.Kubeconfig == "" && len(given(fs, "context", "resource", "namespace", "write")) > 0:
		return errors.New("--context, --resource, --namespace and --write: have no use without --kubeconfig")
	case o.attach == "" && o.attachToken != "":
		return errors.New("--attach-token-file: has no use without --attach")
	case len(given(fs, "session", "kubeconfig", "attach")) > 1:
		return errors.New("--session, --kubeconfig and --attach: want one of them")
	case (o.cert == "") != (o.key == ""):
		return errors.New("--tls-cert and --tls-key: want both or none")
	case !isLoopback(o.listen) && (o.tokenFile == "" || o.cert == ""):
		const needed = "--listen %s: others can connect, so --token-file, --tls-cert and --tls-key are needed"
		return fmt.Errorf(needed, o.listen)
	}
	return nil
}

// isLoopback reports whether an address, host:port, is only reached from this machine.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

func given(fs *pflag.FlagSet, names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !fs.Changed(name) })
}

// guard returns what keeps others out, and what TLS needs or nil.
func (o *options) guard() (guard *look.Guard, secure *tls.Config, err error) {
	guard = &look.Guard{Token: rand.Text()}
	if o.tokenFile != "" {
		if guard.Token, err = look.ReadToken(o.tokenFile); err != nil {
			return nil, nil, fmt.Errorf("--token-file: %w", err)
		}
	}
	if o.cert == "" {
		return guard, nil, nil
	}
	loaded, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, nil, fmt.Errorf("--tls-cert: %w", err)
	}
	guard.Certificate = loaded.Leaf
	return guard, &tls.Config{Certificates: []tls.Certificate{loaded}, MinVersion: tls.VersionTLS12}, nil
}

// open begins to look. The handler needs a guard; close ends it.
func (o *options) open() (handler http.Handler, close func(), err error) {
	switch {
	case o.attach != "":
		handler, err := o.openAttached()
		return handler, func() {}, err
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
	l, err := o.openSession()
	if err != nil {
		return nil, nil, fmt.Errorf("--session: %w", err)
	}
	return l.Handler(), l.Close, nil
}

// openAttached attaches to a program. One that does not answer may yet be started: the page says so.
func (o *options) openAttached() (http.Handler, error) {
	address := o.attach
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	target, err := url.Parse(address)
	if err != nil || target.Scheme != "http" || !isLoopback(net.JoinHostPort(target.Hostname(), cmp.Or(target.Port(), "80"))) {
		return nil, fmt.Errorf("--attach: want host:port or http://host:port/path on loopback, for there is no TLS, got %q", o.attach)
	}
	token := ""
	if o.attachToken != "" {
		if token, err = look.ReadToken(o.attachToken); err != nil {
			return nil, fmt.Errorf("--attach-token-file: %w", err)
		}
	}
	attached := lens.Attach(target, token)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := attached.Find(ctx); err != nil && !errors.Is(err, lens.ErrNoAnswer) {
		return nil, fmt.Errorf("--attach: %w", err)
	}
	return attached, nil
}

func (o *options) openSession() (*lens.Lens, error) {
	if o.session == "" {
		return lens.New(lens.Options{})
	}
	text, err := os.ReadFile(o.session)
	if err != nil {
		return nil, err
	}
	session, err := lens.ReadSession(text)
	if err != nil {
		return nil, err
	}
	return lens.Play(session, false)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	guard, secure, err := o.guard()
	if err != nil {
		return err
	}
	klog.SetLogger(logr.Discard())  // the page tells the story; the failures in it are on purpose
	utilruntime.ReallyCrash = false // a handler that panics is a lesson
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	handler, closeLens, err := o.open()
	if err != nil {
		return err
	}
	defer closeLens()
	guard.Address, guard.Next = listener.Addr(), handler
	scheme, query := "http", "?token="+guard.Token
	if secure != nil {
		scheme, listener = "https", tls.NewListener(listener, secure)
	}
	if o.tokenFile != "" {
		query = "?token=… (from --token-file)"
	}
	fmt.Fprintf(out, "Open %s://%s/%s\n", scheme, guard.Address, query)
	server := &http.Server{ // its streams end with ctx
		Handler: guard, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}
