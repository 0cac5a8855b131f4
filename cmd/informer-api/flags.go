package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"glasswatch/cmd/internal/cluster"
	"glasswatch/cmd/internal/logging"
)

// The values of --auth and --pass.
const (
	authToken, authReview      = "token", "review"
	passOff, passRead, passAll = "off", "read", "all"
)

// options is the command line.
type options struct {
	cluster          cluster.Flags
	log              logging.Flags
	demo             bool
	listen           string
	tlsCert, tlsKey  string
	auth, tokenFile  string
	token            string // what --token-file has
	pass             string
	secrets, upgrade bool
	maxKinds         int
	maxBody          int64
	idle, timeout    time.Duration
}

// parse reads args, without the program's name. It returns pflag.ErrHelp when help was asked for and printed to out.
func parse(args []string, out io.Writer) (*options, error) {
	o := &options{}
	fs := pflag.NewFlagSet("informer-api", pflag.ContinueOnError)
	fs.SetOutput(out)
	fs.SortFlags = false
	fs.BoolVar(&o.demo, "demo", false, "show against an in-process API server what a read costs, and exit")
	fs.StringVar(&o.cluster.Kubeconfig, "kubeconfig", "", "without it $KUBECONFIG, else the Pod's own service account")
	fs.StringVar(&o.cluster.Context, "context", "", "context of the kubeconfig; without it the current one")
	fs.StringVar(&o.listen, "listen", "127.0.0.1:8888", "address to serve on; any but a loopback address needs TLS")
	fs.StringVar(&o.tlsCert, "tls-cert-file", "", "certificate to serve with")
	fs.StringVar(&o.tlsKey, "tls-private-key-file", "", "key of the certificate")
	fs.StringVar(&o.auth, "auth", authToken, "token: one bearer token for all that this program may read; "+
		"review: callers bring tokens of the cluster, which says what each may read")
	fs.StringVar(&o.tokenFile, "token-file", "", "file with that one token; without it one is printed at the start")
	fs.StringVar(&o.pass, "pass", passRead, "what is passed on below /api and /apis: off, read or all")
	fs.BoolVar(&o.secrets, "secrets", false, "serve Secrets and tokens of service accounts, too")
	fs.BoolVar(&o.upgrade, "exec", false, "pass on exec, attach, port-forward and proxy, too")
	fs.IntVar(&o.maxKinds, "max-kinds", 20, "how many kinds are in memory at the same time")
	fs.DurationVar(&o.idle, "idle", 5*time.Minute, "an informer that nobody has read for so long stops")
	fs.DurationVar(&o.timeout, "timeout", 30*time.Second, "time for one request, watches apart")
	fs.Int64Var(&o.maxBody, "max-body", 3<<20, "largest body of a request that is passed on, in bytes")
	o.log.AddTo(fs)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("want flags only, got %q", fs.Arg(0))
	}
	return o, o.validate()
}

func (o *options) validate() error {
	host, _, err := net.SplitHostPort(o.listen)
	ip := net.ParseIP(host)
	switch {
	case err != nil:
		return fmt.Errorf("--listen: %w", err)
	case (o.tlsCert == "") != (o.tlsKey == ""):
		return errors.New("--tls-cert-file and --tls-private-key-file: want both or neither")
	case o.tlsCert == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()):
		return fmt.Errorf("--listen=%s: others could read the tokens on the way; give --tls-cert-file", o.listen)
	case o.auth != authToken && o.auth != authReview:
		return fmt.Errorf("--auth: want token or review, got %q", o.auth)
	case !slices.Contains([]string{passOff, passRead, passAll}, o.pass):
		return fmt.Errorf("--pass: want off, read or all, got %q", o.pass)
	case o.maxKinds < 1 || o.maxBody < 1 || o.idle <= 0 || o.timeout <= 0:
		return errors.New("--max-kinds, --max-body, --idle, --timeout: want more than 0")
	}
	return o.log.Validate()
}
