package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"glasswatch/controller/ingress"
	"glasswatch/internal/lens/look"
)

// lensFlags let somebody look on with cmd/lens --attach.
type lensFlags struct {
	addr, tokenFile string
	step            bool
}

func (f *lensFlags) addTo(fs *pflag.FlagSet) {
	fs.StringVar(&f.addr, "lens-addr", "", "loopback address for lens --attach, which then sees kinds, names, versions and errors; empty for none")
	fs.StringVar(&f.tokenFile, "lens-token-file", "", "file with the token that the lens must send")
	fs.BoolVar(&f.step, "lens-step", false, "let the lens hold back what passes: a leader then does nothing, and may lose its Lease")
}

func (f *lensFlags) validate() error {
	if f.addr == "" {
		if f.tokenFile != "" || f.step {
			return errors.New("--lens-token-file and --lens-step: have no use without --lens-addr")
		}
		return nil
	}
	host, _, err := net.SplitHostPort(f.addr)
	switch {
	case err != nil:
		return fmt.Errorf("--lens-addr: want host:port or nothing, got %q: %w", f.addr, err)
	case host != "localhost" && !net.ParseIP(host).IsLoopback():
		return fmt.Errorf("--lens-addr: want a loopback address, for it has no TLS, got %q", f.addr)
	case f.tokenFile == "":
		return errors.New("--lens-addr: needs --lens-token-file")
	}
	return nil
}

// observe has the controller's events reported to a hub as well, and its requests. It returns nil if nobody may look on.
func (f *lensFlags) observe(ctx context.Context, cfg *rest.Config, opts *ingress.Options) *look.Hub {
	if f.addr == "" {
		return nil
	}
	hub, log := look.NewHub(), opts.Observe
	context.AfterFunc(ctx, hub.Close) // what is held back must not keep the program from ending
	opts.Observe = func(events ...look.Event) {
		if log != nil {
			log(events...)
		}
		hub.Report(events...)
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		kinds := map[string]string{"services": "Service", "ingresses": "Ingress"}
		return &look.Transport{Next: next, Hub: hub, Kinds: kinds}
	})
	return hub
}

// handler serves what the lens asks for.
func (f *lensFlags) handler(hub *look.Hub, c *ingress.Controller) (http.Handler, error) {
	if hub == nil {
		return nil, nil
	}
	token, err := look.ReadToken(f.tokenFile)
	if err != nil {
		return nil, fmt.Errorf("--lens-token-file: %w", err)
	}
	view := c.View()
	view.Can = []string{}
	if f.step {
		view.Can, view.Note = look.GateActs, "lease"
	}
	hub.Begin(view)
	return look.ForPrograms(token, look.Handler(hub)), nil
}
