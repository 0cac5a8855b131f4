// Command lens shows an informer at work in the browser: an API server in memory, two informers and the ingress
// controller. It prints the address to open. What goes over HTTP is described in internal/lens/PROTOCOL.md.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

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
	case (o.cert == "") != (o.key == ""):
		return errors.New("--tls-cert and --tls-key: want both or none")
	case host != "localhost" && !net.ParseIP(host).IsLoopback() && (o.tokenFile == "" || o.cert == ""):
		const needed = "--listen %s: others can connect, so --token-file, --tls-cert and --tls-key are needed"
		return fmt.Errorf(needed, o.listen)
	}
	return nil
}

// minToken is how many bytes a token from a file must have.
const minToken = 16

// secrets returns the token, and what TLS needs or nil.
func (o *options) secrets() (token string, certificate *tls.Certificate, err error) {
	if token = look.NewToken(); o.tokenFile != "" {
		text, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return "", nil, fmt.Errorf("--token-file: %w", err)
		}
		if token = strings.TrimSpace(string(text)); len(token) < minToken {
			return "", nil, fmt.Errorf("--token-file: want at least %d characters, got %d", minToken, len(token))
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
	var session lens.Session
	if o.session != "" {
		text, err := os.ReadFile(o.session)
		if err == nil {
			session, err = lens.ReadSession(text)
		}
		if err != nil {
			return fmt.Errorf("--session: %w", err)
		}
	}
	klog.SetLogger(logr.Discard())  // the page tells the story; the failures in it are on purpose
	utilruntime.ReallyCrash = false // a handler that panics is a lesson
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	l, err := lens.NewIn(nil, session)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer l.Close()
	guard := &look.Guard{Token: token, Address: listener.Addr(), Next: l.Handler()}
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
